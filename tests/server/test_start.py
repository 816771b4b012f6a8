"""State of the server process after its start."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.server.conftest import APP

COUNT_THREADS = """
import app
import scipy.linalg
from threadpoolctl import threadpool_info
print(*{each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
"""


def test_server_uses_one_blas_thread_unless_the_environment_says_otherwise():
    n_threads = [_blas_threads(environment) for environment in ({}, {"OPENBLAS_NUM_THREADS": "2"})]
    assert n_threads == ["1", "2"]


def _blas_threads(environment: dict[str, str]) -> str:
    inherited = {key: value for key, value in os.environ.items() if "NUM_THREADS" not in key}
    command = [sys.executable, "-c", COUNT_THREADS]
    output = subprocess.check_output(
        command, cwd=APP.parent, env=inherited | environment, text=True
    )
    return output.strip()
