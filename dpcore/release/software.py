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
    """Return the versions of packages, and the commit and hash of this package's code."""
    packages = {name: version(name) for name in ("numpy", "scipy", "pyarrow")}
    return {"dpcore": dpcore.__version__, "commit": _commit(), "code": _code_hash(),
            "python": platform.python_version(), **packages}  # fmt: skip


@cache
def _code_hash() -> str:
    """Return the SHA-256 of all files of the package: programs, schemas and texts."""
    package, digest = Path(dpcore.__file__).parent, sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.parent.name != "__pycache__":
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# Post-processing of noisy results, which cannot change the guarantee.
AFTER_THE_NOISE = (
    "dpcore.pca.assessment",
    "dpcore.pictograms",
    "dpcore.privacy.label",
    "dpcore.privacy.label_page",
    "dpcore.release.released_pca",
    "dpcore.release.verification",
    "dpcore.spectra",
    "dpcore.templates",
)


def guarantee_code() -> dict[str, int]:
    """Return the files that the guarantee of a release relies on, with their numbers of lines.

    These are all modules that `dpcore.release.publication` imports, directly or indirectly,
    without `AFTER_THE_NOISE`. Each imported name is followed to the module that defines it. The
    hash in a certificate covers the whole package, since every imported module runs.
    """
    n_lines: dict[str, int] = {}
    waiting = ["dpcore.release.publication"]
    while waiting:
        module = waiting.pop()
        file = _file_of(module)
        is_after = any(f"{module}.".startswith(f"{package}.") for package in AFTER_THE_NOISE)
        if file is None or is_after or _path_in_package(file) in n_lines:
            continue
        text = file.read_text(encoding="utf-8")
        n_lines[_path_in_package(file)] = len(text.splitlines())
        waiting += (_defining_module(name, of) for of, name in _package_imports(text))
    return dict(sorted(n_lines.items()))


def _file_of(module: str) -> Path | None:
    place = Path(dpcore.__file__).parent.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _path_in_package(file: Path) -> str:
    return file.relative_to(Path(dpcore.__file__).parents[1]).as_posix()


def _package_imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield the modules of this package and the names imported from them, except for types."""
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


def _defining_module(name: str, module: str) -> str:
    """Return the module that defines a name that another module may re-export."""
    if _file_of(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file_of(module)
    if file is not None and file.name == "__init__.py":
        for of, imported in _package_imports(file.read_text(encoding="utf-8")):
            if imported == name:
                return _defining_module(name, of)
    return module


@cache
def _commit() -> str:
    """Return the commit of the package's repository, with "-dirty" if files changed, or ""."""
    package = Path(dpcore.__file__).parent
    command = ["git", "-C", str(package), "describe", "--always", "--dirty", "--abbrev=40",
               "--exclude=*"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
