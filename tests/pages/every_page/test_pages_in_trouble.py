"""Every page where a data set's files are damaged and nothing can be kept on disk."""

from __future__ import annotations

import pytest
import streamlit as st

from dpcore.data.catalog_tables import INSURANCE_FILES
from dpcore.experiments.store import Store
from pages.shell.navigation import PAGES

FILES = sorted(f"{place.section.lower()}/{place.name}/page" for place in PAGES.values())


@pytest.mark.parametrize("path", FILES)
def test_damaged_files_and_an_unusable_cache_are_a_sentence_each(
    open_page, tmp_path, monkeypatch, path
):
    for file in INSURANCE_FILES:
        (tmp_path / file.name).write_bytes(b"1\t2\n")
    st.cache_data.clear()  # which data sets are ready is remembered for two seconds
    (tmp_path / "cache").write_text("a file in the folder's place")
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    Store().keep_content(["anything"], b"that cannot be kept")
    page = open_page(path, dataset="insurance")
    assert not page.exception
    said = {error.value for error in page.error}
    assert all("is damaged or not the official file" in sentence for sentence in said)
    assert len(said) == 1 if path == "explore/statistics" else len(said) <= 1
    assert sum("cannot be kept in" in info.value for info in page.info) == 1


def test_a_visitor_is_not_shown_where_the_servers_files_are(open_page, tmp_path):
    table = open_page("use/reproduce").dataframe[-1]
    assert "no" in set(table.value["Ready"]) and str(tmp_path) not in table.value.to_csv()
