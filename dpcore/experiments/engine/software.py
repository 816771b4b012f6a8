"""Which software made a number."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import dpcore

_PACKAGE = Path(dpcore.__file__).parent
_NUMERICAL = ("numpy", "scipy")
# Parts of the package that only show what others computed.
_SHOWING = ("figures", "command_line")


@cache
def software_fingerprint() -> str:
    """Digest of the source that computes rows and of the versions under it."""
    digest = hashlib.sha256()
    for name in _NUMERICAL:
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] not in _SHOWING:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def versions() -> str:
    """The same for a cell of a table: "dpcore 3f2a9c01, numpy 2.4.6, scipy 1.17.1"."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _NUMERICAL)
    return f"dpcore {software_fingerprint()[:8]}, {libraries}"
