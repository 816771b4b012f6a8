"""Where a visitor's releases and their ledger are.

On a server that somebody runs for themselves, in the folder they opened. Elsewhere in a temporary
folder of this session, which holds what was released and charged, never a row, and is deleted with
the session: that ledger forgets.
"""

from __future__ import annotations

import io
import shutil
import weakref
import zipfile
from pathlib import Path
from tempfile import mkdtemp

import streamlit as st

from dpcore.releases.project import LEDGER, Project, folder_name
from pages.sidebar import own_table

_PLACE = "_own_projects"


def is_lasting() -> bool:
    """Whether what is charged is remembered when the session has ended."""
    return own_table.folder() is not None


def found(name: str) -> Project | None:
    """The project of this name; None where there is none yet.

    Raises `ParameterError` if it is no name for a folder, or its ledger is damaged.
    """
    folder = folder_of(name)
    return Project(folder) if (folder / LEDGER).is_file() else None


def others(name: str) -> int:
    """How many projects there are beside the one of this name."""
    return sum(ledger.parent.name != name for ledger in _place().glob(f"*/{LEDGER}"))


def folder_of(name: str) -> Path:
    """Where a project of this name is, or would be.

    Raises `ParameterError` if it is no name for a folder.
    """
    return _place() / folder_name("project", name)


def zipped(release: Path) -> bytes:
    """A release folder as one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(release.iterdir()):
            archive.write(path, f"{release.name}/{path.name}")
    return file.getvalue()


def _place() -> Path:
    lasting = own_table.folder()
    if lasting is not None:
        return lasting / "projects"
    if _PLACE not in st.session_state:
        st.session_state[_PLACE] = _OfSession()
    session: _OfSession = st.session_state[_PLACE]
    return session.path


class _OfSession:
    """A temporary folder that goes with whoever holds this."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="dp-pca-lab-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
