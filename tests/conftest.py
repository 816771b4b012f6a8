"""What tests of several areas share."""

from __future__ import annotations

import os
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

_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "datasets"


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Tests run side by side; more threads than cores only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session", autouse=True)
def results_of_this_run(tmp_path_factory):
    """Nothing is taken from a folder of earlier runs, nor that folder, of whatever size, read."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # what one worker has computed serves the others
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(scope="session")
def false_alarm() -> float:
    return FALSE_ALARM


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20180406)


@pytest.fixture(scope="session")
def datasets_home() -> Path:
    """A data home with the official files, or a skip."""
    home = Path(os.environ.get("DPCORE_DATA") or _BESIDE_THE_REPOSITORY)
    if not home.is_dir():
        pytest.skip(f"official data files are absent: neither DPCORE_DATA nor {home} is a folder")
    return home
