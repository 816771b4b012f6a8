"""The Reproduce page: it opens on every panel, and a small figure runs through to its verdicts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import collect
from dpcore.papers.dpdispca import FIGURES, PaperFigure
from pages.shell.parameters import REPAIRED
from pages.use.reproduce import as_published_rows, query_of, sweeps_of, verdicts

TINY = PaperFigure(
    "tiny",
    "Captured energy against ε, digits",
    RunSpec.published(repetitions=4, components=5),
    "epsilon",
    (0.1, 1.0, 10.0),
    "Captured energy grows with ε.",
    "grows",
    "asked ε",
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def texts(at) -> str:
    return "\n".join(element.value for element in at.markdown)


def test_it_opens_with_the_claim_and_every_panel(open_page):
    at = open_page("use/reproduce")
    assert not at.exception and not at.error
    # In the heading, or below the chart once the first rows have come.
    captions = " ".join(each.value for each in at.caption)
    assert "a lower dimension needs less ε" in texts(at) + captions
    groups = next(box for box in at.selectbox if box.key == "reproduce_group").options
    assert len(groups) == len({figure.title.partition(",")[0] for figure in FIGURES.values()})


def test_absent_data_says_how_to_get_them(open_page):
    at = open_page("use/reproduce")
    box = next(box for box in at.selectbox if box.label == "Panel")
    box.select("fig1-b").run()
    assert not at.exception
    assert any("not on this machine" in info.value for info in at.info)


def test_a_figure_runs_through_to_its_verdicts(open_page, monkeypatch):
    monkeypatch.setattr("dpcore.papers.dpdispca.FIGURES", {"tiny": TINY})
    monkeypatch.setattr("pages.use.reproduce.FIGURES", {"tiny": TINY})
    monkeypatch.setattr("pages.shell.parameters.FIGURES", {"tiny": TINY})
    at = open_page("use/reproduce", reproduce_repaired="true")
    next(each for each in at.button if each.label == "Run").click().run()
    for _ in range(3000):
        if not any(each.label == "Stop" for each in at.button):
            break
        time.sleep(0.1)
        at.run()
    assert not at.exception and not at.error
    assert "as published: *Captured energy grows with ε.*" in texts(at)
    assert "No published number is known for this panel" in texts(at)
    assert any("reproduce tiny" in block.value for block in at.code)


def test_repaired_choices_are_judged_on_the_same_draws():
    sides = [collect(sweep).rows for sweep in sweeps_of(TINY, repaired=True)]
    assert len(as_published_rows(sides[0])) == len(sides[0]) / 2
    under = [name for name, _ in verdicts(TINY, sides)]
    assert "with psd truncation" in under and f"with {REPAIRED}" in under


def test_the_three_panels_together_are_judged_once_all_have_run(open_page, monkeypatch):
    panels = {
        name: replace(TINY, name=name, base=replace(TINY.base, seed=seed))
        for seed, name in enumerate(("fig1-a", "fig1-b", "fig1-c"))
    }
    monkeypatch.setattr("dpcore.papers.dpdispca.FIGURES", panels)
    monkeypatch.setattr("pages.use.reproduce.FIGURES", panels)
    monkeypatch.setattr("pages.shell.parameters.FIGURES", panels)
    at = open_page("use/reproduce")
    for name in panels:
        next(box for box in at.selectbox if box.label == "Panel").select(name).run()
        next(each for each in at.button if each.label == "Run").click().run()
        for _ in range(3000):
            if not any(each.label == "Stop" for each in at.button):
                break
            time.sleep(0.1)
            at.run()
        told = "across the three panels: *A lower dimension needs less ε.*" in texts(at)
        assert told == (name == "fig1-c")
    assert not at.exception and not at.error


def test_all_panels_are_seen_at_once(open_page, monkeypatch):
    panels = {
        name: replace(TINY, name=name, base=replace(TINY.base, seed=seed, repetitions=3))
        for seed, name in enumerate(("first", "second"))
    }
    for module in (
        "dpcore.papers.dpdispca",
        "pages.shell.parameters",
        "pages.use.reproduce",
    ):
        monkeypatch.setattr(f"{module}.FIGURES", panels)
    # What the page begins unasked may be over before its panels are drawn.
    monkeypatch.setattr("pages.use.reproduce.open_with_figure", lambda *_: None)
    at = open_page("use/reproduce")
    assert "None has been run on this machine yet." in texts(at)
    assert tiles(at).count("Not run yet.") == 2 * 2  # beside the picture, and in place of it
    next(each for each in at.button if each.label == "Run").click().run()
    for _ in range(3000):
        if not any(each.label == "Stop" for each in at.button):
            break
        time.sleep(0.1)
        at.run()
    assert not at.exception and not at.error
    assert "**1 of 2** have been run:" in texts(at)
    assert "claims hold in 3 runs" in tiles(at) and "Not run yet." in tiles(at)
    assert "reproduce_panel_0=second" in tiles(at)


def tiles(at) -> str:
    return "\n".join(element.proto.body for element in at.get("html"))


def test_a_thumbnail_leads_to_its_panel(open_page):
    for name in ("fig1-h", "fig2-synthetic"):
        at = open_page("use/reproduce", **query_of(name))
        box = next(box for box in at.selectbox if box.label == "Panel")
        assert not at.exception and box.value == name
