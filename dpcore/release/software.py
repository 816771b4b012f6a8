"""Versions and hashes of the code that made a release, and the list of files it relies on."""

from __future__ import annotations

import ast
import platform
import subprocess
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import dpcore


def software() -> dict[str, str]:
    """Versions, and what identifies the code that ran."""
    packages = {name: version(name) for name in ("numpy", "scipy", "pyarrow")}
    return {"dpcore": dpcore.__version__, "commit": _commit(), "code": _code(),
            "python": platform.python_version(), **packages}  # fmt: skip


@cache
def _code() -> str:
    """SHA-256 of the package's programs."""
    package, digest = Path(dpcore.__file__).parent, sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# What is made of a release once its noise is on it: it can break no promise.
AFTER_THE_NOISE = (
    "dpcore.pca.assessment",
    "dpcore.privacy.label",
    "dpcore.release.released_pca",
    "dpcore.release.verification",
    "dpcore.spectra",
)


def promise_code() -> dict[str, int]:
    """The programs that a release's promise rests on, with their lines: what reads rows, bounds
    them, draws the noise, charges it and says so.

    All that `dpcore.release.publication` imports, each name from where it is defined, but for what
    comes after the noise. The certificate's hash is of the whole package: whatever is imported
    runs.
    """
    found: dict[str, int] = {}
    waiting = ["dpcore.release.publication"]
    while waiting:
        module = waiting.pop()
        file = _file_of(module)
        is_after = any(f"{module}.".startswith(f"{each}.") for each in AFTER_THE_NOISE)
        if file is None or is_after or _named(file) in found:
            continue
        text = file.read_text(encoding="utf-8")
        found[_named(file)] = len(text.splitlines())
        waiting += (_home_of(name, of) for of, name in _imported(text))
    return dict(sorted(found.items()))


def _file_of(module: str) -> Path | None:
    place = Path(dpcore.__file__).parent.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _named(file: Path) -> str:
    return file.relative_to(Path(dpcore.__file__).parents[1]).as_posix()


def _imported(text: str) -> Iterator[tuple[str, str]]:
    """Modules of this package and the names taken from them, but for types alone."""
    tree = ast.parse(text)
    types = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in types:
            module = node.module or ""
            if module.split(".")[0] == "dpcore":
                yield from ((module, alias.name) for alias in node.names)


def _home_of(name: str, module: str) -> str:
    """The module that defines what another hands on."""
    if _file_of(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file_of(module)
    if file is not None and file.name == "__init__.py":
        for of, each in _imported(file.read_text(encoding="utf-8")):
            if each == name:
                return _home_of(name, of)
    return module


@cache
def _commit() -> str:
    """Of the repository the package lies in, with "-dirty" where files were changed; or nothing."""
    package = Path(dpcore.__file__).parent
    command = ["git", "-C", str(package), "describe", "--always", "--dirty", "--abbrev=40",
               "--exclude=*"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
