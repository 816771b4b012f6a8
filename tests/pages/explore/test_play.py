"""The pages of the main job, without a browser: what they answer, and to bad input."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.data import load_dataset
from dpcore.data.loading import CATALOG
from dpcore.experiments.assessments import assess_releases
from dpcore.experiments.problem import local_problem
from dpcore.experiments.rebuilt_rows import choose_example_rows
from dpcore.experiments.summaries import percent, spread_of
from dpcore.params import EPSILONS
from pages.server import caches
from pages.shell.parameters import AXES
from tests.pages import looking


@pytest.fixture(autouse=True)
def no_data_files(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))


def opened(page: str = "explore/play", **query: str) -> AppTest:
    at = looking.opened(page, **query)
    assert not at.exception
    return at


def words(at: AppTest) -> str:
    said = [element.value for element in at.markdown]
    return "\n".join([*said, *(element.proto.body for element in at.get("html")), answer(at)])


def all_handed_over(at: AppTest, component: str = "energy_frames") -> list[dict]:
    """What the browser was given by every element of a component."""
    parts = (p.proto for p in at.get("bidi_component") if p.proto.component_name == component)
    given = [json.loads(part.json) for part in parts]
    return [each[0] if isinstance(each, list) else each for each in given]


def handed_over(at: AppTest, component: str = "energy_frames") -> dict:
    """What the browser was given to show while epsilon is dragged."""
    return next(iter(all_handed_over(at, component)), {"frames": []})


def people_of(at: AppTest) -> list[dict]:
    """The people of each run that the browser was given."""
    return all_handed_over(at, "energy_people")


def frame_of(at: AppTest, epsilon: float) -> dict:
    return next(frame for frame in handed_over(at)["frames"] if frame["epsilon"] == epsilon)


def answer(at: AppTest) -> str:
    """What it says of the present epsilon."""
    if not handed_over(at)["frames"]:
        return ""
    frame = frame_of(at, at.select_slider(key="epsilon").value)
    return " ".join(frame[part] for part in ("number", "meaning", "by"))


def test_the_start_page_shows_a_result_at_once():
    at = opened()
    said = answer(at).replace("\xa0", " ")
    assert " % of the pattern survives. A random guess would get 14 %, no privacy" in said
    assert "DPdisPCA, 5 sites of 2,000 pictures; 10 runs:" in said
    # Said where they differ.
    assert "delivered" not in said
    energies = frame_of(at, 1.0)["energies"]
    assert [len(runs) for runs in energies.values()] == [10] * 3
    # Both numbers of the pair are of one draw of noise, and the second is that of the curve.
    spec = replace(at.session_state["_selection"].spec, repetitions=1)
    before = caches.rows(replace(spec, protocols=("dpdis",), denoise="none"))[0]["energy_ratio"]
    pair = f"{percent(before)} as the noise left it → **{percent(energies['dpdis'][0])} denoised**"
    assert [each.value for each in at.caption if pair in each.value]
    at.select_slider(key="epsilon").set_value(0.1).run()
    assert " ε = 0.1" in frame_of(at, 0.1)["alt"]


def test_frames_fill_in_over_runs_and_then_rest():
    at = opened(repetitions="2", seed="77", dataset="digits")
    counts = []
    for _ in range(600):
        at.run()
        counts.append(len(handed_over(at)["frames"]))
        if not handed_over(at)["count"]:
            break
    assert counts[-1] == len(EPSILONS)
    assert counts == sorted(counts)


def test_an_answer_from_the_first_draws_says_so_and_has_them_all_a_moment_later(monkeypatch):
    monkeypatch.setattr(caches, "_FIRST_SECONDS", 0.0)
    at = opened(repetitions="3", seed="79")
    (bar,) = (element.proto for element in at.get("progress") if "so far" in element.proto.text)
    assert bar.text == "From 1 of 3 runs so far" and bar.value == 33
    at.run()
    assert not [element for element in at.get("progress") if "so far" in element.proto.text]
    assert all(len(draws) == 3 for draws in frame_of(at, 1.0)["energies"].values())


def test_what_is_dragged_is_what_is_shown_there():
    """Each frame is the run that the page makes at that epsilon, in numbers and in pictures."""
    at = opened(repetitions="2", seed="78", dataset="synthetic-2012")
    while handed_over(at)["count"]:
        at.run()
    dragged = {frame["epsilon"]: frame for frame in handed_over(at)["frames"]}
    for epsilon in (0.001, 2.0, 50.0):
        at.select_slider(key="epsilon").set_value(epsilon).run()
        spec = at.session_state["_selection"].spec
        rows = caches.rows(spec)
        there = dragged[epsilon]
        assert there == frame_of(at, epsilon)
        for key, draws in there["energies"].items():
            found = [row["energy_ratio"] for row in rows if row["protocol"] == key]
            assert draws == pytest.approx(found, abs=5e-5)
        assert there["number"] == percent(spread_of(rows, spec.protocols[0]).mean)


def test_people_are_rebuilt_from_released_components_about_the_released_mean(monkeypatch):
    """Of every run, at every epsilon, though what was drawn has been let go of meanwhile."""
    at = opened(repetitions="2", seed="78", dataset="digits")
    while handed_over(at)["count"]:
        at.run()
    spec = at.session_state["_selection"].spec
    prepared = caches.prepared(*spec.problem_key().data)
    for run in people_of(at):
        levels = np.frombuffer(b64decode(run["levels"]), np.uint8).reshape(-1, 10, 64)
        assert run["epsilons"] == list(EPSILONS) and len(levels) == len(EPSILONS)
        for epsilon, drawn in zip(run["epsilons"], levels, strict=True):
            at_epsilon = replace(spec, epsilon=epsilon)
            released = caches.subspaces(at_epsilon, run["run"])["dpdis"]
            chosen = choose_example_rows(prepared.labels, prepared.n_samples)
            rows, m, v = prepared.X[chosen], released.centre, released.components
            again = m + (rows - m) @ v.T @ v
            shares = (again * prepared.scale + prepared.mean) / 16
            assert np.abs(drawn - 255 * np.clip(shares, 0, 1)).max() <= 0.5 + 1e-6
    about = people_of(at)[0]["people"]
    assert about["names"] == list("0123456789")
    assert (about["kind"], about["width"], about["height"]) == ("ink", 8, 8)
    truth = np.frombuffer(b64decode(about["truth"]), np.uint8).reshape(10, 64)
    assert np.array_equal(truth, np.rint(255 / 16 * load_dataset("digits").X[chosen]))


@pytest.mark.parametrize(
    ("dataset", "kind"), [("synthetic-2012", "bars"), ("patches", "photograph")]
)
def test_people_of_a_table_are_bars_and_photographs_are_photographs(dataset, kind):
    at = opened(dataset=dataset, repetitions="1", protocols="Pooled, trusted", people="100")
    at.run()
    while not people_of(at):
        at.run()
    about = people_of(at)[0]["people"]
    assert about["kind"] == kind and len(about["names"]) == 10


def test_what_a_browser_has_been_sent_is_not_sent_again():
    """A run that is whole at every epsilon is handed over in the same bytes ever after."""
    at = opened(repetitions="2", dataset="digits", seed="81")
    seen: dict[int, dict] = {}
    while handed_over(at)["count"]:
        at.run()
        for run in people_of(at):
            before = seen.get(run["run"], run)
            if len(before["epsilons"]) == len(EPSILONS):
                assert run == before
            seen[run["run"]] = run
    assert set(seen) == {0, 1}


def test_a_whole_setting_is_small_enough_to_send():
    at = opened(repetitions="2")
    while handed_over(at)["count"]:
        at.run()
    assert len(json.dumps(handed_over(at))) < 20_000
    assert all(len(json.dumps(run)) < 50_000 for run in people_of(at))


def test_moving_epsilon_moves_the_answer():
    at = opened()
    before = answer(at)
    at.select_slider(key="epsilon").set_value(10.0).run()
    assert answer(at) != before and "ε = 10 " in frame_of(at, 10.0)["alt"].replace(":", " ")


def test_more_people_than_there_are_is_said_and_the_page_goes_on():
    at = opened(people="200", sites="20", dataset="digits")
    assert "20 sites × 200 pictures need 4,000" in at.warning[0].value
    assert "DPdisPCA, 20 sites of 89 pictures" in words(at)


def test_sending_fewer_directions_than_wanted_says_what_it_costs():
    at = opened(intermediate="4", dataset="digits")
    assert "R = 4 is below K = 10" in at.warning[0].value
    assert "of the pattern" in words(at)


def test_classic_noise_above_one_is_one_sentence_beside_working_controls():
    at = opened(epsilon="5", calibration="classic")
    assert "epsilon must be at most 1" in at.error[0].value
    at.select_slider(key="epsilon").set_value(1.0).run()
    assert not at.error
    assert "of the pattern" in words(at)


def test_an_absent_data_set_says_how_to_get_it():
    at = opened(dataset="mnist")
    assert "train-images-idx3-ubyte" in at.info[0].value
    assert not at.error


def test_the_published_promise_shows_what_it_really_is():
    at = opened(epsilon="10", calibration="published", delta="0.01", dataset="digits",
                play_tab="guarantee")  # fmt: skip
    assert "Requested ε = 10, delivered ε = 20.2." in answer(at)
    assert "weaker than requested" in words(at)


def test_the_release_says_how_good_it_is_beside_the_truth():
    at = opened(dataset="digits", play_tab="quality")
    text = words(at)
    spec = at.session_state["_selection"].spec
    found = assess_releases(spec, local_problem(spec.problem_key()))["dpdis"]
    low, high = (percent(float(end)) for end in found.own.captured_share.interval)
    assert f"({low} to {high})" in text.replace("\xa0", " ")
    assert f"The true figure is **{percent(found.energy / found.total)}**" in text
    assert any("asked once more" in caption.value for caption in at.caption)
    assert "cannot tell" not in text
    chart = handed_over(at, "own_estimate")
    assert chart["svg"].count("<circle") == 11 and chart["table"].count("<tr>") == 11


def test_on_wide_data_the_page_stands_before_the_release_is_asked():
    """And what it said before stays until it says the next."""
    at = opened(dataset="patches", people="100", sites="2", protocols="Pooled, trusted",
                repetitions="1", components="2", intermediate="4", play_tab="quality")  # fmt: skip

    def is_asked() -> bool:
        return any("being asked" in caption.value for caption in at.caption)

    asked = at.session_state["_selection"].spec
    assert is_asked() and not caches.is_self_assessed(asked)
    caches.self_assessed(asked)
    at.run()
    assert not is_asked() and "From the result of" in words(at)
    at.select_slider(key="epsilon").set_value(0.5).run()
    assert is_asked() and "From the result of" in words(at)
    moved = at.session_state["_selection"].spec
    assert moved != asked and not caches.is_self_assessed(moved)


def test_a_release_that_cannot_tell_how_good_it_is_says_why():
    text = words(opened(protocols="Wishart difference", repetitions="1", play_tab="quality"))
    assert "**Wishart difference** cannot tell how good it is: how much noise that is not" in text


def test_a_release_below_the_noise_says_that_nothing_stands_out():
    at = opened(epsilon="0.01", preparation="published", protocols="One site alone",
                dataset="digits", play_tab="quality")  # fmt: skip
    assert "Nothing stands out of the noise" in words(at)
    assert "too noisy to tell" in words(at)


def test_published_preparation_is_never_called_private():
    assert "centring not private" in words(opened(preparation="published", play_tab="guarantee"))


# The last is what "bounded" was called before.
@pytest.mark.parametrize(
    ("asked", "shown"),
    [({}, "sphere"), ({"preparation": "none"}, "none"), ({"preparation": "private"}, "bounded")],
)
def test_every_other_preparation_is_private(asked, shown):
    at = opened(**asked, play_tab="guarantee")
    assert not at.exception
    assert "centring not private" not in words(at)
    assert at.session_state["preparation"] == shown


def test_other_limits_of_columns_are_another_answer_and_in_the_link():
    at = opened(dataset="digits")
    before = answer(at)
    at.session_state["limits"] = "pixels=0:8"
    at.run()
    assert answer(at) != before and not at.warning
    assert "limits=pixels%3D0%3A8" in looking.shared_link(at)
    # They were for these columns.
    at.selectbox(key="dataset").select("synthetic-2012").run()
    assert at.session_state["limits"] == "" and not at.warning


def test_limits_that_make_no_sense_are_one_sentence_and_not_carried_along():
    at = opened(limits="pixels=8:1")
    assert "a lower limit before an upper" in at.warning[0].value
    assert "its default is used" in at.warning[0].value and len(at.warning) == 1
    assert "limits" not in looking.shared_link(at)
    # Right, and of another data set's columns.
    at = opened(limits="Aspect=0:90")
    assert "catalogue's own limits" in at.warning[0].value


def test_limits_too_long_for_the_address_stay_in_the_session():
    names = [each.name for each in CATALOG["census"].ranges if each.n_columns > 1]
    long = "; ".join(f"{name}=0:2" for name in names[:32])
    at = opened(dataset="synthetic-2012")
    at.session_state["limits"] = long + "; " * 500
    at.run().run()
    assert at.session_state["limits"].startswith(long)
    assert "limits" not in looking.shared_link(at)


def test_components_of_several_epsilon_stand_under_each_other():
    at = opened(epsilon="0.5", play_tab="components")
    text = words(at)
    there = ("Exact PCA", "ε = 10", "ε = 2", "ε = 0.5, where the slider stands", "ε = 0.1")
    places = [text.index(f">{row}</figcaption>") for row in there]
    assert places == sorted(places)
    spec = at.session_state["_selection"].spec
    exact = caches.problem_of(spec.problem_key()).exact_components[:10]
    found = caches.subspaces(replace(spec, epsilon=10.0))["dpdis"].components[:10]
    near = np.count_nonzero(np.abs((found * exact).sum(axis=1)) >= 0.8)
    assert f"Still recognisable: **{near} of 10** at ε\xa0=\xa010, " in text


TABS = {
    "components": "Still recognisable",
    "spectrum": "All of one matrix",
    "axis": "pictures a site",
    "messages": "| Protocol | Sent | Rounds |",
    "quality": "one would estimate that",
    "guarantee": "Nothing anyone could conclude",
}


@pytest.mark.parametrize("tab", TABS)
def test_only_the_open_tab_is_drawn(tab):
    at = opened(play_tab=tab, dataset="digits", repetitions="2")
    for _ in range(100):
        text = words(at) + "".join(each.value for each in at.caption)
        if TABS[tab] in text:
            break
        at.run()
    assert {name for name, said in TABS.items() if said in text} == {tab}
    assert not at.exception and not at.error


@pytest.mark.parametrize("axis", [*(name for name in AXES if name != "epsilon"), "bytes", "needed"])
def test_the_curve_is_drawn_along_every_axis(axis):
    at = opened(play_tab="axis", play_axis=axis, dataset="digits", repetitions="1", sites="5")
    for _ in range(200):
        if at.get("plotly_chart"):
            break
        at.run()
    assert at.get("plotly_chart") and not at.exception and not at.error


def test_eigen_images_have_a_row_for_each_epsilon():
    at = opened("explore/eigen_images")
    text = words(at)
    for row in ("Exact PCA", "ε = 10", "ε = 2", "ε = 0.1"):
        assert f">{row}</figcaption>" in text


def test_eigen_images_fall_in_the_browser_from_runs_of_their_own():
    at = opened("explore/eigen_images", method="DPdisPCA")
    while (data := handed_over(at, "falling"))["count"]:
        at.run()
    spec = replace(at.session_state["_selection"].spec, protocols=("dpdis",), repetitions=1)
    for frame in data["frames"]:
        (row,) = caches.rows(replace(spec, epsilon=frame["epsilon"]))
        assert frame["kept"] == percent(row["energy_ratio"])
    assert len(data["frames"]) == len(data["epsilons"])
    assert "Still recognisable: " in words(at)


def test_the_spectrum_is_of_one_matrix_and_the_number_on_top_is_the_mean():
    at = opened("explore/eigen_images")
    (scree,) = (
        figure
        for figure in (json.loads(chart.proto.spec) for chart in at.get("plotly_chart"))
        if "eigenvalue (units" in figure["layout"]["yaxis"]["title"].get("text", "")
    )
    exact, *private = [
        np.frombuffer(b64decode(trace["y"]["bdata"]), trace["y"]["dtype"])
        for trace in scree["data"]
    ]
    # At ε = 10 noise moves an eigenvalue by 2 σ √D = 0.0045 at most, and the private mean little.
    assert abs(private[-1][0] - exact[0]) < 0.1 * exact[0]
    assert len({trace["line"]["color"] for trace in scree["data"]}) == len(scree["data"])
    assert "The mean of 10 runs; in the one shown" in words(at)


def test_rebuilding_from_more_components_misses_less():
    at = opened("explore/eigen_images")

    def missing() -> float:
        line = next(v for v in (m.value for m in at.markdown) if v.startswith("Missing from"))
        return float(line.split("**")[1].removesuffix(" %"))

    everything = missing()
    at.slider(key="rebuilt_from").set_value(1).run()
    assert missing() > everything


def test_sites_that_drop_out_are_asked_for_in_the_address():
    at = opened(dropped_sites="2", protocols="Chain of sites", repetitions="2",
                play_tab="messages")  # fmt: skip
    assert not at.warning
    assert "Chain of sites, 5 sites" in words(at)
    (table,) = (each for each in words(at).split("\n") if each.startswith("| Chain of sites"))
    # Rounds, in the table of messages: the sum of the means goes round before.
    assert "| 10 |" in table
    at = opened(dropped_sites="9", sites="4", repetitions="2")
    assert "Of 4 sites at most 3 can drop out" in at.warning[0].value


def test_a_chain_refuses_more_components_than_it_hands_on():
    at = opened(protocols="Chain of sites", intermediate="3", repetitions="2")
    assert "in a chain, whose last site holds no more directions" in words(at) + "".join(
        each.value for each in (*at.error, *at.warning)
    )


def test_masks_of_a_missing_site_would_stay():
    at = opened(protocols="CAPE", dropped_sites="1", repetitions="2")
    assert "masks cancel only where every site answers" in words(at) + "".join(
        each.value for each in (*at.error, *at.warning)
    )


def test_eigenvalues_of_those_who_answered_are_drawn():
    opened("explore/eigen_images", dropped_sites="2", method="Full matrices")
