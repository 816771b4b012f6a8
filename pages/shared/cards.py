"""Pieces several pages show: errors, the guarantee, what to take away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.errors import DataUnavailable, ParameterError


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what a person can put right as one sentence, and go on with the page."""
    try:
        yield
    except (ParameterError, DataUnavailable) as error:
        st.error(str(error), icon="⚠️")


def dataset_ready(dataset: DatasetStatus) -> bool:
    """True if the files are there; otherwise says how to get them."""
    if dataset.ready:
        return True
    st.info(f"**{dataset.title}** is not on this machine. {dataset.how_to_get}", icon="📁")
    return False
