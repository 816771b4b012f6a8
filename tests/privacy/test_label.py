"""The privacy label: its facts are those of the guarantee, its JSON fits the schema."""

from __future__ import annotations

import json
from html import unescape

import pytest
from jsonschema import Draft202012Validator

from dpcore.command_line import main
from dpcore.data import dataset_status
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import icon_counts
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.privacy.label import SCHEMA, SIMULATION, label_of
from dpcore.privacy.label_page import label_card, label_page


def _promised(key, **changed):
    spec = RunSpec(dataset="digits", protocols=(key,), delta=1e-5, **changed)
    return spec.guarantee(key, dataset_status("digits"))


@pytest.mark.parametrize("is_simulation", [True, False])
@pytest.mark.parametrize("key", PROTOCOLS)
def test_every_protocol_has_a_label_of_its_schema_and_numbers(key, is_simulation):
    guarantee = _promised(key)
    label = label_of(guarantee, "A <b>title</b>", is_simulation=is_simulation)
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(label.as_dict())))
    assert (label.right_with, label.right_without) == icon_counts(guarantee)
    page = label_page(label)
    assert (SIMULATION in page) == is_simulation == label.as_dict()["simulation"]
    assert "A &lt;b&gt;title" in page and "<b>" not in page and "//" not in page
    if guarantee.is_private:
        assert f"ε = {say_number(guarantee.epsilon)}" in page
        for entry in guarantee.against:
            assert entry.sees in unescape(page)
    else:
        assert "no guarantee" in page and label.epsilon is None


def test_a_trusted_party_stands_among_those_one_trusts():
    label = label_of(_promised("pooled"), "", is_simulation=True)
    (aggregator,) = [sight for sight in label.sights if sight.place == "aggregator"]
    assert aggregator.is_trusted and aggregator.epsilon is None
    assert "a breach there shows every row" in label.trust[0]
    assert "trusted" in label_card(label)
    assert not any("breach" in sentence for sentence in label_of(
        _promised("dpdis"), "", is_simulation=True).trust)  # fmt: skip


def test_the_schema_refuses_a_simulation_without_its_face():
    document = label_of(_promised("dpdis"), "", is_simulation=True).as_dict()
    assert not Draft202012Validator(SCHEMA).is_valid(document | {"face": ""})
    assert not Draft202012Validator(SCHEMA).is_valid(document | {"simulation": False})


def test_the_command_writes_the_label(tmp_path, capsys):
    asked = ["label", "--dataset", "digits", "--protocol", "securesum", "--delta", "1e-5"]
    assert main([*asked, "--out", str(tmp_path / "label.html")]) == 0
    assert SIMULATION in (tmp_path / "label.html").read_text(encoding="utf-8")
    assert main(asked) == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(document)
    assert document["protected"]["who"].endswith("1,797 at 5 sites")
    assert main([*asked, "--out", str(tmp_path / "label.txt")]) == 2
    capsys.readouterr()
    assert main(["label", "--dataset", "digits", "--protocol", "pooled", "--audit", "200"]) == 0
    checked = json.loads(capsys.readouterr().out)["checked"]
    assert checked and all(
        "200 releases" in sentence and "no breach found" in sentence for sentence in checked
    )
