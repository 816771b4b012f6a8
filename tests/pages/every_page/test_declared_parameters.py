"""A parameter is declared once: what asks for it, checks it or explains it reads the field."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import pytest

from dpcore.command_line.options import add_run_options, spec_from
from dpcore.command_line.sweep_command import parse_vary
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import Sweep
from dpcore.params import Axis, axes, param, params_in_markdown
from pages.shell import controls, parameters
from pages.shell.parameters import control_of, controls_of


@dataclass(frozen=True)
class ShrunkSpec(RunSpec):
    """A spec with a parameter that the lab does not have, defined while it runs."""

    shrinkage: float = param(
        0.5,
        "Shrinkage",
        "Eigenvalues are pulled together by so much.",
        low=0,
        high=1,
        place="advanced",
        steps=(0.25, 0.5, 1.0),
        axis=Axis("shrinkage", "shrinkage of eigenvalues", "{:g} shrunk", "0.25, 1"),
    )


def test_the_spec_checks_it():
    assert ShrunkSpec(shrinkage=1.0).shrinkage == 1.0
    with pytest.raises(ParameterError, match=r"^shrinkage must be from 0 to 1, got 1\.5"):
        ShrunkSpec(shrinkage=1.5)


def test_the_command_line_has_its_option(capsys):
    parser = argparse.ArgumentParser()
    add_run_options(parser, ShrunkSpec())
    spec = spec_from(parser.parse_args(["--shrinkage", "0.25", "--delta", "0.01"]), ShrunkSpec)
    assert spec == ShrunkSpec(shrinkage=0.25, delta=0.01)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    assert "Eigenvalues are pulled together" in " ".join(capsys.readouterr().out.split())


def test_an_address_may_set_it():
    control = controls_of(ShrunkSpec, "advanced")["shrinkage"]
    assert control.read("shrinkage", ["1"]) == ["1"]
    assert control.value(["0.25"]) == 0.25
    with pytest.raises(ParameterError, match=r"shrinkage must be a step of its slider, 0\.25 to 1"):
        control.read("shrinkage", ["0.3"])


def test_the_sidebar_has_its_control(open_page, monkeypatch):
    control = control_of(ShrunkSpec, "shrinkage")
    for table in (parameters.ADVANCED, parameters.DECLARED, parameters.DEFAULTS):
        monkeypatch.setitem(table, "shrinkage", 0.5 if table is parameters.DEFAULTS else control)
    monkeypatch.setattr(controls, "RunSpec", ShrunkSpec)
    at = open_page("use/plan", shrinkage="1")
    assert not at.exception
    drawn = at.sidebar.select_slider(key="shrinkage")
    assert (drawn.label, drawn.value) == ("Shrinkage", 1.0)
    assert at.session_state["_selection"].spec.shrinkage == 1.0


def test_a_sweep_goes_along_it():
    assert "shrinkage" in ShrunkSpec().variable_fields()
    assert axes(ShrunkSpec)["shrinkage"].told(0.25) == "0.25 shrunk"
    vary = parse_vary(["shrinkage=0.25,1"], ShrunkSpec())
    cells = Sweep(ShrunkSpec(), vary).cells()
    assert [cell.spec.shrinkage for cell in cells] == [0.25, 1.0]


def test_the_documentation_explains_it():
    row = next(line for line in params_in_markdown(ShrunkSpec).splitlines() if "shrinkage" in line)
    assert "from 0 to 1" in row and "Eigenvalues are pulled together" in row
