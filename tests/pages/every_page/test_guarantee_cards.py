"""Every page that shows something private says what it promises, and what was spent so far."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator

from dpcore.privacy import ASSUMED, STATED
from dpcore.privacy.label import SCHEMA, SIMULATION, label_page
from pages.shell.navigation import PAGES
from pages.widgets import guarantee_card

ANCHORS = {each.anchor for each in (*STATED.values(), *ASSUMED.values())}
# Where nothing private is shown: the way in, the books, theorems, and an attack on a claim.
WITHOUT_CARD = {"stories", "ledger", "sample_complexity", "audit", "own_data", "release",
                "classroom", "deck"}  # fmt: skip
# Nor is anything released where the people are invented, or the chains only watched.
WITHOUT_ENTRY = WITHOUT_CARD | {"promise", "tutorials", "sampler"}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", PAGES)
def test_the_card_is_there_and_its_links_lead_somewhere(open_page, name):
    # On data that come with the lab, and few draws.
    figure = {"reproduce_panel_0": "fig1-a: Synthetic (DPdisPCA)"} if name == "reproduce" else {}
    at = open_page(f"{PAGES[name].section.lower()}/{name}",
                   repetitions="2", components="2", **figure)  # fmt: skip
    assert not at.exception
    written = [element.value for element in at.markdown]
    said = "\n".join([*written, *(element.proto.body for element in at.get("html"))])
    followed = re.findall(r"promise(?:\?[^#]*)?#([a-z-]*)", said)
    assert set(followed) <= ANCHORS
    assert ("delivered" in followed) == (name not in WITHOUT_CARD)
    if name in WITHOUT_CARD:
        return
    verdicts = ":green-badge[private]", ":red-badge[centring not private]"
    is_private = any(verdict in said for verdict in verdicts)
    # One verdict a card: nothing is called private whose preparation is not.
    assert not any(all(verdict in line for verdict in verdicts) for line in written)
    assert ("one-row-a-person" in followed) == is_private
    # In the sidebar, or on a page that has none.
    sentences = [c.value for c in at.caption]
    has_line = any("On real data" in s or "Nothing private has been" in s for s in sentences)
    assert has_line == (name not in WITHOUT_ENTRY)


def test_the_label_on_a_page_is_of_its_schema_and_is_shown_as_it_prints(open_page, monkeypatch):
    labels = []
    made = guarantee_card.label_of
    monkeypatch.setattr(
        guarantee_card, "label_of", lambda *a, **k: labels.append(made(*a, **k)) or labels[-1]
    )
    at = open_page("learn/promise")
    assert not labels  # nothing is made before it is opened
    (key,) = {each.proto.id for each in at.expander if each.label == "Privacy label"}
    at.session_state[key[key.index("label_") :]] = True
    at.run()
    assert not at.exception
    (label,) = labels
    document = json.loads(json.dumps(label.as_dict()))
    Draft202012Validator(SCHEMA).validate(document)
    assert document["simulation"] and document["epsilon"] == 1
    (frame,) = (each.proto for each in at.get("iframe"))
    # What the page shows is what it saves and prints; it has a name for who cannot see it.
    assert frame.srcdoc == label_page(label) and SIMULATION in frame.srcdoc
    assert frame.alt == "Privacy label: Principal components, simulated"
    saved = [each.proto.label for each in at.get("download_button")]
    assert {"Label (HTML)", "Label (JSON)"} <= set(saved)
