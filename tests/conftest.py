"""Fixtures for several areas of tests."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# Chance that a test of a random law fails although the law is right; tolerances follow from it.
FALSE_ALARM = 1e-9

# How long an example takes says how busy the machine is.
settings.register_profile("dpcore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dpcore")

# Functions of slow tests, measured by `python -m tests.benchmarks.slow_tests`.
SLOW = frozenset(Path(__file__).with_name("slow_tests.txt").read_text("utf-8").splitlines())

_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "datasets"


# Tests that take ten seconds and more. They start first, so that no worker ends with one of them
# while the others have nothing left to do.
LONGEST = (
    "tests/federated/test_demo.py::test_the_demo_gives_components_from_three_charged_sites",
    "tests/fuzz/test_fuzzed_commands.py",
    "tests/test_docs.py::test_the_site_builds_without_a_warning_and_asks_nobody",
    "tests/test_guides.py",
)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        items[:] = order_for_workers(items, config.workerinput["workercount"])


def order_for_workers(items, n_workers):
    """Put a part of the longest tests before the tests that each worker starts with.

    xdist divides the list into n_workers parts of equal size, in its order.
    """
    longest = [item for item in items if item.nodeid.startswith(LONGEST)]
    others = iter([item for item in items if not item.nodeid.startswith(LONGEST)])
    ordered = []
    for number in range(n_workers):
        end = len(ordered) + (len(items) - len(ordered)) // (n_workers - number)
        ordered += longest[number::n_workers]
        ordered += islice(others, max(0, end - len(ordered)))
    return ordered


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Limit BLAS to one thread, because tests run in parallel."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session", autouse=True)
def results_of_this_run(tmp_path_factory):
    """Use an empty folder for finished rows instead of that of earlier runs."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # what one worker has computed serves the others
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(autouse=True)
def same_file_mode_mask():
    """Undo what commands such as `dpcore federated guard` do to the mask of their process."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


@pytest.fixture(scope="session")
def false_alarm() -> float:
    return FALSE_ALARM


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20180406)


@pytest.fixture(scope="session")
def datasets_home() -> Path:
    """Return a data home with the official files, or skip the test."""
    home = Path(os.environ.get("DPCORE_DATA") or _BESIDE_THE_REPOSITORY)
    if not home.is_dir():
        pytest.skip(f"official data files are absent: neither DPCORE_DATA nor {home} is a folder")
    return home


@pytest.fixture(scope="session")
def delta_of_best_stopping():
    """Return a function from mus and displayed epsilons to the delta under the best stopping rule.

    That of who looks at each release and stops where it suits best: the largest expectation of
    (1 - e^(shown - loss))+ over all stopping rules, by backward induction on a grid of losses.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def delta(mus, shown) -> float:
        reach = sum(mu**2 for mu in mus) / 2 + 9 * sum(mu**2 for mu in mus) ** 0.5
        losses = np.linspace(-reach, reach, 4001)
        worth = np.zeros_like(losses)
        for mu, epsilon in list(zip(mus, shown, strict=True))[::-1]:
            worth = np.maximum(worth, -np.expm1(np.minimum(epsilon - losses, 0.0)))
            later = losses[:, None] + mu**2 / 2 + mu * nodes
            worth = np.interp(later, losses, worth) @ weights
        return float(np.interp(0.0, losses, worth))

    return delta
