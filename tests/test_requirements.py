"""All installed packages are pinned, and the version ranges contain the pins."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
RANGES = {
    "requirements.txt": [*PROJECT["dependencies"], *EXTRAS["dashboard"]],
    "tests/requirements.txt": [*EXTRAS["cluster"], *EXTRAS["docs"], *EXTRAS["federated"]],
}


def _pins(name: str) -> dict[str, Requirement]:
    path = REPOSITORY / name
    pins: dict[str, Requirement] = {}
    for line in path.read_text().splitlines():
        if line.startswith("-r "):
            pins |= _pins(str((path.parent / line[3:]).resolve().relative_to(REPOSITORY)))
        elif line and not line.startswith("#"):
            pin = Requirement(line)
            assert canonicalize_name(pin.name) not in pins, f"{pin.name} is pinned twice"
            pins[canonicalize_name(pin.name)] = pin
    return pins


def _needed(pin: Requirement) -> set[str]:
    """Return the dependencies of a package on this machine."""
    needed = set()
    for text in distribution(pin.name).requires or ():
        other = Requirement(text)
        extras = [{"extra": extra} for extra in (*pin.extras, "")]
        if other.marker is None or any(other.marker.evaluate(extra) for extra in extras):
            needed.add(canonicalize_name(other.name))
    return needed


@pytest.mark.parametrize("name", RANGES)
def test_what_pinned_packages_need_is_pinned_too(name):
    pins = _pins(name)
    for pin in pins.values():
        assert [(bound.operator, bound.version.count(".") > 0) for bound in pin.specifier] == [
            ("==", True)
        ], pin
        try:
            missing = _needed(pin) - set(pins)
        except PackageNotFoundError:
            continue  # a package of another system
        assert not missing, f"{pin.name} needs {missing}, which {name} does not pin"


@pytest.mark.parametrize("name", RANGES)
def test_ranges_admit_what_is_pinned_and_have_an_end(name):
    pins = _pins(name)
    for text in RANGES[name]:
        asked = Requirement(text)
        (pinned,) = pins[canonicalize_name(asked.name)].specifier
        assert asked.specifier.contains(pinned.version), text
        assert any(bound.operator == "<" for bound in asked.specifier), text
        assert not asked.specifier.contains(f"{Version(pinned.version).major + 1}.0"), text


def test_what_runs_here_is_what_is_pinned():
    for key, pin in _pins("requirements.txt").items():
        assert pin.specifier.contains(distribution(key).version), pin
