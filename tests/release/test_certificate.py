"""Contents of a release folder, and changes that `verify` finds."""

from __future__ import annotations

import json
import math
import re
import runpy
from hashlib import sha256

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.base import clone

import dpcore
from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.pca.centre_rule import MEAN
from dpcore.privacy import gaussian_delta
from dpcore.privacy.label import SCHEMA as LABEL_SCHEMA
from dpcore.release import Column, Dictionary, Table, calibrated, load_release, measurement
from dpcore.release.certificate import as_json
from dpcore.release.encoding import grid_blocks
from dpcore.release.integer_rows import GRID, LENGTH, scale_to_length
from dpcore.release.normal_sampler import DISTANCE
from dpcore.release.scales import VOTE
from dpcore.release.verification import verify


def _certified(folder) -> dict:
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("preparation", ["sphere", "bounded"])
def test_a_release_verifies_and_its_epsilon_is_exact(make, preparation):
    released = make(preparation=preparation)
    verdict = verify(released.folder)
    assert verdict.holds and "ε = 1, δ = 10⁻⁵" in verdict.sentence
    c, m = released.certificate_, released.certificate_["mechanism"]
    has_votes, factor = preparation == "sphere", 2 if m["of_differences"] else 1
    assert (m["vote_sigma"] > 0) == has_votes
    mu = math.hypot(2 * math.sqrt(m["squared_norm"]) / m["sum_sigma"],
                    math.sqrt(8) * VOTE / m["vote_sigma"] if has_votes else 0,
                    factor * m["length"] ** 2 / m["moment_sigma"])  # fmt: skip
    tau = (4 * 5 / 2 + 5 + 4 * has_votes) * DISTANCE
    ideal = gaussian_delta(c["epsilon"], 1.0, mu)
    assert ideal + (1 + math.exp(c["epsilon"])) * tau <= c["delta"] * (1 + 1e-12)
    # The noise is not larger than necessary.
    assert gaussian_delta(c["epsilon"] * 0.999, 1.0, mu) > c["delta"]
    assert c["epsilon"] <= 1 and m["draws"] == 15 + 4 * has_votes


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1, 1e-5), (8, 1e-3)])
def test_calibration_reaches_the_requested_epsilon(m, epsilon, delta):
    columns = tuple(Column(f"c{i}", 0, 1) for i in range(40))
    dictionary = Dictionary(columns, person="p", at_most=m)
    scales = calibrated(dictionary, epsilon=epsilon, delta=delta, mean_share=0.2)
    assert epsilon * (1 - 1e-6) <= scales.epsilon(delta, epsilon) <= epsilon
    assert scales.squared_norm == 40 * 2**36 and scales.count_weight**2 <= 3 * scales.squared_norm
    bounded = Dictionary(columns, norm_bound=2.0)
    assert calibrated(bounded, epsilon=1, delta=1e-5).squared_norm == 4 * 2**36


def test_a_release_folder_contains_no_cell(make, people):
    """The folder has twelve files, and none contains a cell of the table."""
    people["weight"][:17] = 777.123
    released = make()
    raw = b"".join(path.read_bytes() for path in released.folder.iterdir())
    everything = raw.decode("latin-1")
    assert "777.123" not in everything and np.float64(777.123).tobytes() not in raw
    assert {path.name for path in released.folder.iterdir()} == {
        "annex.html", "certificate.html", "certificate.json", "components.csv", "components.npz",
        "deployment.yaml", "dictionary.toml", "label.html", "label.json", "use.ipynb", "use.py",
        "variance.csv",
    }  # fmt: skip


def test_the_label_agrees_with_the_certificate(make):
    folder = make().folder
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    label = json.loads((folder / "label.json").read_text(encoding="utf-8"))
    Draft202012Validator(LABEL_SCHEMA).validate(label)
    assert (label["epsilon"], label["delta"]) == (certificate["epsilon"], certificate["delta"])
    assert label["assumptions"] == certificate["assumptions"] and not label["simulation"]
    assert verify(folder).holds


def test_the_page_escapes_and_the_entry_has_the_registrys_form(make):
    folder = make().folder
    page = (folder / "certificate.html").read_text(encoding="utf-8")
    assert "People &lt;b&gt;" in page and "<b>" not in page and "http" not in page
    entry = json.loads((folder / "deployment.yaml").read_text())["deployment"]
    assert set(entry) == {"product", "dp_flavor", "privacy_loss", "model", "accounting",
                          "implementation"}  # fmt: skip
    assert entry["privacy_loss"]["privacy_parameters"]["delta"] == 1e-5
    # The dictionary states who is one person, and may be wrong, so the page repeats it.
    assert "<td>each row is another</td>" in page
    assert "each row is another" in entry["privacy_loss"]["privacy_unit_description"]


CHANGES = {
    "ε is stated as": lambda c: c.update(epsilon=0.5),
    "more than was requested": lambda c: c["requested"].update(epsilon=0.5),
    "the guarantee in words": lambda c: c.update(guarantee="It is private."),
    "the row norm bound": lambda c: c["mechanism"].update(squared_norm=1),
    "rows a person": lambda c: c["mechanism"].update(rows_per_person=2),
    "number of features": lambda c: c["mechanism"].update(n_features=3),
    "the length is": lambda c: c["mechanism"].update(length=2),
    "diagonal noise": lambda c: c["mechanism"].update(diagonal_sigma=2),
    "follows as": lambda c: c["mechanism"].update(moment_sigma=2**30),
    "stated as less": lambda c: c["mechanism"].update(mu=0.01),
    "less than that of this release": lambda c: c["total"].update(mu=0.01),
    "beyond its cap": lambda c: c["total"].update(cap_epsilon=0.1),
    "the cap's share": lambda c: c["total"].update(share=0.01),
    "breaks its schema": lambda c: c["result"].update(n_rows=300),
    "$.epsilon": lambda c: c.update(epsilon=-1),
    "not of the form": lambda c: c.update(form="other"),
    "components.npz is missing": lambda c: None,
    "components.csv is not the file": lambda c: None,
    "a release with a certificate": lambda c: c.update(delta=math.nan),
    "certified as (1, 4)": lambda c: c["result"].update(components=1),
}  # fmt: skip


@pytest.mark.parametrize("sentence", CHANGES)
def test_a_changed_release_does_not_verify(make, sentence):
    folder = make().folder
    if "missing" in sentence:
        (folder / "components.npz").unlink()
    if "not the file" in sentence:
        (folder / "components.csv").write_text("x")
    certificate = _certified(folder)
    CHANGES[sentence](certificate)
    (folder / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    verdict = verify(folder)
    assert not verdict.holds and sentence in verdict.sentence and "\n" not in verdict.sentence


def _in_text(name, old, new):
    """Return a function that replaces a text in a file."""

    def alter(folder):
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8", newline="")

    return alter


def _in_arrays(change):
    """Return a function that changes arrays of the NPZ file."""

    def alter(folder):
        with np.load(folder / "components.npz") as arrays:
            stored = dict(arrays)
        np.savez(folder / "components.npz", **stored | change(stored))

    return alter


def _in_certificate(change):
    def alter(folder):
        certificate = _certified(folder)
        change(certificate)
        (folder / "certificate.json").write_bytes(as_json(certificate))

    return alter


def _beside(name, content=b"age,sex\r\n41,f\r\n"):
    return lambda folder: (folder / name).write_bytes(content)


def _twice(folder):
    """Insert a duplicate key: readers see the first value, programs use the last."""
    text = (folder / "certificate.json").read_text(encoding="utf-8")
    (folder / "certificate.json").write_text(
        text.replace("{", '{\n "guarantee": "ε = 0.01",', 1), encoding="utf-8"
    )


# Changes of a folder, also with updated hashes, so that only the content reveals them.
ALTERED = {
    "certificate.html, ε = 0.01": _in_text("certificate.html", "ε = 1", "ε = 0.01"),
    "certificate.html, a script": _in_text("certificate.html", "</html>", "<script></script>"),
    "components.csv": _in_text("components.csv", "component 1,", "component 1,9"),
    "variance.csv": _in_text("variance.csv", "component 1,", "component 1,9"),
    "dictionary.toml": _in_text("dictionary.toml", "100.0", "0.0"),
    "deployment.yaml": _in_text("deployment.yaml", '"epsilon": 0.9', '"epsilon": 0.0'),
    "label.json": _in_text("label.json", '"caught": ', '"caught": 1'),
    "label.html": _in_text("label.html", "ε = ", "ε = 0"),
    "annex.html": _in_text("annex.html", "ε = ", "ε = 0"),
    "use.py": _in_text("use.py", "import sys", "import sys, shutil"),
    "use.ipynb": _in_text("use.ipynb", "load_release", "load_other"),
    "certificate.json, assumptions": _in_certificate(lambda c: c["assumptions"].pop(0)),
    "certificate.json, more": _in_certificate(lambda c: c["assumptions"].append("None.")),
    "certificate.json, eigenvalues": _in_certificate(lambda c: c["result"]["eigenvalues"].pop()),
    "certificate.json, explained": _in_certificate(
        lambda c: c["result"].update(explained_variance_ratio=[[0.9, 0.9, 0.9]] * 2)
    ),
    "certificate.json, title": _in_certificate(lambda c: c.update(title="Not these people")),
    "certificate.json, mechanism": _in_certificate(lambda c: c["mechanism"].update(name="Exact")),
    "certificate.json, share": _in_certificate(lambda c: c["preparation"].update(mean_share=0.2)),
    "certificate.json, made": _in_certificate(lambda c: c.update(made="lately")),
    "certificate.json, software": _in_certificate(lambda c: c["software"].update(rows="41,f")),
    "certificate.json, twice": _twice,
    "components.npz, rows": _in_arrays(lambda a: {"rows": np.ones((3, 4))}),
    "components.npz, other components": _in_arrays(lambda a: {"components": 2 * a["components"]}),
    "components.npz, other names": _in_arrays(lambda a: {"features": a["features"][::-1]}),
    "components.npz, objects": _in_arrays(lambda a: {"centre": a["centre"].astype(object)}),
    "components.npz, no archive": _beside("components.npz", b"rows"),
    "rows.csv": _beside("rows.csv"),
    ".rows.csv": _beside(".rows.csv"),
}


@pytest.mark.parametrize("is_certified", [False, True])
@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_folder_does_not_verify_with_updated_hashes(make, what, is_certified):
    folder, name = make().folder, what.partition(",")[0]
    assert verify(folder).holds
    ALTERED[what](folder)
    if is_certified and "twice" not in what:
        certificate = _certified(folder)
        for path in folder.iterdir():
            if path.name != "certificate.json":
                certificate["files"][path.name] = sha256(path.read_bytes()).hexdigest()
        (folder / "certificate.json").write_bytes(as_json(certificate))
    verdict = verify(folder)
    assert not verdict.holds and "\n" not in verdict.sentence
    assert name in verdict.sentence.replace(str(folder), "")


def test_a_folder_in_the_folder_does_not_verify(make):
    folder = make().folder
    (folder / "rows").mkdir()
    assert "'rows' is not part of the release" in verify(folder).sentence


def test_a_fault_in_a_folder_of_another_version_says_so(make):
    folder = make().folder
    _in_certificate(lambda c: c["software"].update(dpcore="0.9.9"))(folder)
    sentence = verify(folder).sentence
    assert "certificate.html does not say what" in sentence
    assert sentence.endswith(f"(it says that dpcore 0.9.9 made it; this is {dpcore.__version__}).")


def test_a_folder_of_another_form_is_refused_with_one_sentence(make):
    folder = make().folder
    _in_certificate(lambda c: c.update(form="dp-pca-lab/certificate/3"))(folder)
    verdict = verify(folder)
    assert not verdict.holds and "\n" not in verdict.sentence
    assert "certificate.json is not of the form dp-pca-lab/certificate/1" in verdict.sentence


def test_a_certificate_states_no_epsilon_of_the_releases_so_far(make):
    make("first")
    folder = make("second").folder
    assert set(_certified(folder)["total"]) == {
        "mu", "distance", "share", "cap_epsilon", "cap_delta", "cap_reserve"
    }  # fmt: skip
    page = (folder / "certificate.html").read_text(encoding="utf-8")
    assert "together</th><td>ε = 2 at δ = 10⁻⁵: its cap" in page and "so far" not in page
    assert re.search(r"with this release</th><td>5\d(\.\d)? % \(of μ²\)", page)


def test_the_deployment_entry_states_the_cap_of_the_project_only(make):
    """The sum of mu is no guarantee for releases that were chosen after seeing others."""
    make("first")
    folder = make("second").folder
    entry = json.loads((folder / "deployment.yaml").read_text())["deployment"]
    sentence, total = entry["accounting"]["composition"], _certified(folder)["total"]
    assert f"{total['mu']:.6g}" not in sentence
    assert "epsilon = 2, delta = 10⁻⁵, the cap of a privacy filter" in sentence


def test_other_components_under_the_same_certificate_do_not_verify(make):
    folder = make().folder
    content = (folder / "components.npz").read_bytes()
    assert _certified(folder)["files"]["components.npz"] == sha256(content).hexdigest()
    with np.load(folder / "components.npz") as arrays:
        changed = dict(arrays) | {"components": -arrays["components"]}
    np.savez(folder / "components.npz", **changed)
    assert not verify(folder).holds
    with pytest.raises(ParameterError, match="a release as it was certified"):
        load_release(folder)


@pytest.mark.parametrize("field", ["dictionary", "files"])
@pytest.mark.parametrize("value", [None, 1, [], "x"])
def test_a_certificate_with_a_null_field_gets_one_sentence(make, field, value):
    folder = make().folder
    certificate = _certified(folder) | {field: value}
    (folder / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    with pytest.raises(ParameterError):
        load_release(folder)


@pytest.mark.parametrize("field", ["columns", "person", "rows", "cells"])
def test_a_dictionary_with_a_null_field_gets_one_sentence(make, field):
    folder = make().folder
    certificate = _certified(folder)
    certificate["dictionary"][field] = None
    (folder / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    with pytest.raises(ParameterError):
        load_release(folder)


def test_a_release_transforms_new_rows(make, people):
    released = make()
    assert released.components_.shape == (2, 4)
    np.testing.assert_allclose(released.components_ @ released.components_.T, np.eye(2), atol=1e-12)
    table = {name: column[:5] for name, column in people.items()}
    coordinates = released.transform(table)
    assert coordinates.shape == (5, 2)
    scaled = np.stack([(table["height"] - 160) / 60, (table["weight"] - 85) / 65,
                       table["sex"] == "f", table["sex"] == "m"], axis=1)  # fmt: skip
    expected = (scaled - released.mean_) @ released.components_.T
    np.testing.assert_allclose(coordinates, expected, atol=1e-5)
    again = clone(load_release(released.folder)).fit()
    np.testing.assert_array_equal(again.transform(table), coordinates)
    assert released.get_feature_names_out().tolist() == ["releasedpca0", "releasedpca1"]
    assert dpcore.load_release is load_release


def test_intervals_of_explained_variance_cover_the_exact_value(
    people, dictionary, make, monkeypatch
):
    """The coverage is 90 %; at most 15 of 30 for one of three components has probability 2e-7.

    Noisy votes of a small table choose any centre. Differences of random pairs have no exact value
    that could be computed from the rows.
    """
    choose = measurement.choose_by_votes
    monkeypatch.setattr(measurement, "choose_by_votes", lambda *votes: (MEAN, choose(*votes)[1]))
    exact = Table(people, dictionary.keys)
    n_covered, error = np.zeros(3), []
    for number in range(30):
        released = make(f"r{number}", n_components=3, epsilon=0.4, cap=(5.0, 1e-5))
        (rows,) = grid_blocks(exact, dictionary)
        prepared = scale_to_length(rows - np.rint(released.mean_ * GRID), LENGTH) / LENGTH
        along = ((prepared @ released.components_.T) ** 2).sum(axis=0) / (prepared**2).sum()
        low, high = released.explained_variance_ratio_interval_
        n_covered += (low <= along) & (along <= high)
        error.append(released.explained_variance_ratio_ - along)
    assert (n_covered >= 16).all() and abs(np.mean(error)) < 0.1
    result = released.certificate_["result"]
    stored = [share[0] for share in result["explained_variance_ratio"]]
    np.testing.assert_array_equal(stored, released.explained_variance_ratio_)
    table = (released.folder / "variance.csv").read_text().splitlines()
    assert len(table) == 4 and table[0].startswith("row,explained_variance,explained_variance_low")
    assert 0 <= result["captured"][1] <= result["captured"][0] and result["above_noise"] <= 3


def test_estimates_hidden_by_noise_are_missing(make):
    """An estimate is visible by chance in about one release of ten, in all eight with 1e-8."""
    tries = (make(f"r{i}", epsilon=0.001, delta=1e-6, cap=(2.0, 1e-5)) for i in range(8))
    released = next(
        attempt for attempt in tries if np.isnan(attempt.explained_variance_ratio_).all()
    )
    result = released.certificate_["result"]
    assert result["explained_variance_ratio"] == [None, None] and result["captured"] is None
    assert verify(released.folder).holds
    assert "lost in the noise" in (released.folder / "certificate.html").read_text("utf-8")


def test_the_script_and_the_notebook_run(make, people, capsys, monkeypatch):
    folder = make().folder
    np.savez(folder.parent / "rows.npz", **people)
    monkeypatch.setattr("sys.argv", ["use.py", str(folder.parent / "rows.npz")])
    runpy.run_path(str(folder / "use.py"), run_name="__main__")
    sentence = capsys.readouterr().out.splitlines()
    assert "differentially private" in sentence[0] and sentence[1].startswith("component 1: ")
    assert sentence[3] == "releasedpca0,releasedpca1" and len(sentence) == 304
    monkeypatch.chdir(folder)
    cells = json.loads((folder / "use.ipynb").read_text("utf-8"))["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(cell["source"], names)
    assert "component 2" in capsys.readouterr().out and len(names["table"]["sex"]) == 5
    assert "People &lt;b&gt;" in cells[0]["source"]


def test_no_two_releases_share_their_noise(make):
    one, two = make("a", epsilon=0.9), make("b", epsilon=0.9)
    assert (one.components_ != two.components_).any()
    # Either centre may be the public middle, whose offset is 0.
    assert (one.mean_ != two.mean_).any() or not one.mean_.any()


def test_a_folder_without_a_certificate_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="a release with a certificate"):
        load_release(tmp_path)
    assert not verify(tmp_path / "none").holds


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 99_999, b'{"form": NaN}'])
def test_a_malformed_certificate_does_not_verify(content, tmp_path):
    (tmp_path / "certificate.json").write_bytes(content)
    verdict = verify(tmp_path)
    assert not verdict.holds and "\n" not in verdict.sentence


def test_from_an_example_to_a_verified_release_at_the_command_line(tmp_path, capsys):
    folder, project = str(tmp_path / "example"), str(tmp_path / "project")
    assert main(["example", "breast-cancer", folder]) == 0
    command = ["release", "--data", f"{folder}/table.csv", "--dictionary",
             f"{folder}/dictionary.toml", "--epsilon", "1", "--delta", "1e-6", "--components", "2",
             "--project", project, "--name"]  # fmt: skip
    assert main([*command, "first"]) == 2
    assert "given a cap" in capsys.readouterr().err
    assert main([*command, "first", "--cap", "1.2", "1e-6", "--json"]) == 0
    sentence = capsys.readouterr()
    assert json.loads(sentence.out)["name"] == "first" and "569 rows read" in sentence.err
    # The exact number of rows; other numbers may contain these digits.
    assert not re.search(r"(?<![\w.])569(?![\w.])", sentence.out)
    assert main([*command, "first"]) == 2
    assert main([*command, "second"]) == 2
    assert "is left of the cap" in capsys.readouterr().err
    assert main(["verify", f"{project}/releases/first"]) == 0
    assert "ε = 1, δ = 10⁻⁶" in capsys.readouterr().out
    (tmp_path / "project/releases/first/components.csv").write_text("x")
    assert main(["verify", f"{project}/releases/first"]) == 1
    assert main(["example", "breast-cancer", folder]) == 1
    assert main(["example", "nobody", folder]) == 2
