"""What a study promises, from public numbers, and plans that cannot be kept."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.federated.hub import of_attempts
from dpcore.federated.identity import hub_identity, read_peers
from dpcore.federated.plan import PROTOCOLS, plan_from
from dpcore.privacy import Adversary, CapeScales, cape_mu, gaussian_epsilon


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_plan_survives_its_file(plan_with, protocol):
    plan = plan_with(protocol=protocol)
    assert plan_from(plan.json()) == plan and plan_from(plan.json()).digest == plan.digest


@pytest.mark.parametrize("fewest", [2, 3, 4])
@pytest.mark.parametrize("honest", [1, 2, 3, 4])
@pytest.mark.parametrize("protocol", ["securesum", "cape", "full"])
def test_the_worst_adversary_holds_what_was_asked(plan_with, fewest, honest, protocol):
    plan = plan_with(fewest=fewest, honest=honest, protocol=protocol)
    held = [plan.epsilon_against(who) for who in Adversary]
    assert max(held) == pytest.approx(1.0, abs=1e-6) and max(held) <= 1.0
    left = max(1, honest - (4 - fewest))
    mask = {"securesum": math.inf, "cape": 2.0}.get(protocol)  # root of S
    by_cape = {} if mask is None else cape_mu(1.0, CapeScales(mask, 1.0), fewest, left)
    for who in Adversary:
        exposed = by_cape.get(who, 1.0)
        assert math.sqrt(plan.exposure(who)) == pytest.approx(exposed, rel=1e-12)
        hidden = plan.hiding(who).mu
        assert hidden == pytest.approx(exposed * plan.scales.mu, rel=1e-6)  # whole sigmas
    assert plan.worst.mu == max(plan.hiding(who).mu for who in Adversary)


def test_all_attempts_together_hold_for_who_stops_them_when_it_suits(
    plan_with, delta_of_best_stopping
):
    """A hub sees what came before it lets the next attempt begin."""
    plan = plan_with()
    mus, shown = [plan.worst.mu] * 20, [of_attempts(plan, count) for count in range(1, 21)]
    assert delta_of_best_stopping(mus, shown) <= plan.delta
    # A little more than a plan's, which needs more than twice the delta.
    planned = [gaussian_epsilon(plan.delta, 1.0, mus[0] * count**0.5) for count in range(1, 21)]
    assert delta_of_best_stopping(mus, planned) > 2.3 * plan.delta
    assert all(e < each < 1.3 * e for each, e in zip(shown, planned, strict=True))
    # Where the samplers' distance leaves nothing of delta, no number is told.
    assert math.isinf(of_attempts(plan_with(epsilon=12.0), 99))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"fewest": 1}, "fewest"),
        ({"fewest": 5}, "fewest"),
        ({"honest": 0}, "honest"),
        ({"n_components": 5}, "n_components"),
        ({"n_components": True}, "n_components"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1e-26}, "delta"),
        ({"protocol": "local"}, "protocol"),
        ({"protocol": "sequential", "intermediate_dim": 1}, "intermediate_dim"),
        ({"protocol": "dpdis", "first_view": 2}, "protocol"),
        ({"first_view": 4}, "first_view"),
        ({"first_view": 1}, "n_components"),
        ({"preparation": "published"}, "preparation"),
        ({"round_seconds": math.nan}, "round_seconds"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_sentence(plan_with, change, named):
    with pytest.raises(ParameterError, match=named):
        plan_with(**change)


def test_peers_are_keys_of_the_study_s_sites(plan_with, tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"two": "ab" * 32}))
    assert read_peers(path, plan_with()) == {"two": "ab" * 32}
    for wrong in ("{", "[]", '{"two": 1}', '{"two": "ab"}', json.dumps({"nine": "ab" * 32})):
        path.write_text(wrong)
        with pytest.raises(ParameterError, match="peers"):
            read_peers(path, plan_with())


def test_a_file_that_is_no_plan(plan_with):
    content = json.loads(plan_with().json())
    wrong = [b"\xff", b"[]", b"[" * 100_000, b"{}", json.dumps(content | {"extra": 1}),
             json.dumps({key: content[key] for key in content if key != "epsilon"}),
             json.dumps(content | {"sites": ["one", "One"]}),
             json.dumps(content | {"sites": ["../one", "two"]})]  # fmt: skip
    for text in wrong:
        with pytest.raises(ParameterError):
            plan_from(text)


def test_a_study_is_called_what_its_folder_is(tmp_path, capsys):
    (tmp_path / "limits.toml").write_text("[columns.age]\nlower = 0\nupper = 120\n")
    asked = ["--dictionary", str(tmp_path / "limits.toml"), "--sites", "oslo,porto",
             "--components", "1", "--address", "https://127.0.0.1:1"]  # fmt: skip
    assert main(["study", "init", str(tmp_path / "heart"), *asked]) == 0
    assert hub_identity(tmp_path / "heart").plan.name == "heart"
    capsys.readouterr()


def test_what_a_demo_leaves_stays(monkeypatch):
    seen = []

    @contextmanager
    def demo_study(_, folder):
        yield SimpleNamespace(hub=folder)

    monkeypatch.setattr("dpcore.federated.rehearsal.demo_study", demo_study)
    monkeypatch.setattr(
        "dpcore.command_line.study_command._watched", lambda hub: seen.append(hub) or 0
    )
    assert main(["study", "demo", "--sites", "3"]) == 0
    seen[0].rmdir()  # it is there
