"""Release: an example at once, then plan, charge and certificate of the visitor's table."""

from __future__ import annotations

import gc
import io
import zipfile
from pathlib import Path

import pytest

from dpcore.release.project import Project
from dpcore.release.verification import verify
from pages.use import own_table
from pages.use.release import zip_folder
from tests.pages.opening import texts, visit
from tests.pages.use.test_own_table import brought

PAGE, LEDGER = "release", "ledger"


def folder_of(at, name: str = "people") -> Path:
    folders = at.session_state["_own_projects"]
    return folders[""].path / name


def release_now(at):
    return at.button(key="release_now").click().run()


def test_the_example_is_released_at_once_and_verifies(open_page):
    at = open_page(PAGE)
    assert not at.exception and not at.error
    assert at.title[0].value.startswith("“release-1” is released: ε = 1")
    assert "verified" in texts(at) and len(at.get("plotly_chart")) == 1
    assert "50 %" in texts(at) or "of the cap" in texts(at)
    at = release_now(at)
    assert not at.exception
    assert "“release-2”" in at.title[0].value


def test_a_plan_does_not_claim_privacy_before_there_is_a_release(open_page):
    at = visit(brought(open_page), PAGE)
    assert not at.exception and not at.error
    assert at.title[0].value.startswith("A release would have ε = 1")
    assert "Nothing is released yet" in texts(at) and "is private" not in texts(at)
    assert len(at.get("plotly_chart")) == 1


def test_a_table_becomes_a_folder_that_verifies_and_is_in_the_ledger(open_page, tmp_path):
    at = release_now(visit(brought(open_page), PAGE))
    assert not at.exception and not at.error
    at = release_now(at)
    releases = sorted(folder_of(at).glob("releases/*"))
    assert [path.name for path in releases] == ["release-1", "release-2"]
    assert all(verify(path).holds for path in releases)
    with zipfile.ZipFile(io.BytesIO(zip_folder(releases[0]))) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "release-1").holds
    lifetime = next(line for line in texts(at).splitlines() if "when this visit ends" in line)
    at = visit(at, LEDGER)
    assert not at.exception
    # One statement about the lifetime of the ledger, on both pages.
    assert lifetime in texts(at) and "outlives" not in texts(at)
    assert list(at.dataframe[-1].value["Release"]) == ["release-1", "release-2"]
    at = visit(at, PAGE)
    at.text_input(key="release_project_people").set_value("others").run()
    assert "1 other project here" in texts(at)
    folder = folder_of(at)
    del at
    gc.collect()
    assert not folder.exists()


def test_a_refused_release_is_explained_and_not_charged(open_page):
    at = visit(brought(open_page), PAGE)
    at.select_slider(key="release_epsilon").set_value(0.1).run()
    at.text_input(key="release_name_1").set_value("../x").run()
    at = release_now(at)
    assert not at.exception and "name must be up to 64 letters" in at.error[0].value
    assert not any(folder_of(at, "").iterdir())
    at.text_input(key="release_name_1").set_value("fine").run()
    at = release_now(at)
    at.select_slider(key="release_epsilon").set_value(1.0).run()
    assert "beyond the cap" in texts(at)
    at.text_input(key="release_name_2").set_value("second").run()
    at = release_now(at)
    assert not at.exception and "is left of the cap" in texts(at)
    at.text_input(key="release_project_people").set_value("a/b").run()
    assert not at.exception and "project must be up to 64 letters" in texts(at)
    assert [each.name for each in Project(folder_of(at)).releases()] == ["fine"]


def test_an_owner_keeps_ledgers_on_disk_and_the_page_says_so(open_page, tmp_path, monkeypatch):
    monkeypatch.setenv(own_table.FOLDER_VARIABLE, str(tmp_path / "owner"))
    at = visit(brought(open_page), PAGE)
    assert "are kept on the disk of this server" in texts(at)
    at = release_now(at)
    assert not at.exception and (tmp_path / "owner/projects/people").is_dir()


@pytest.mark.parametrize("address", [PAGE])
def test_a_public_demo_releases_nothing(open_page, monkeypatch, address):
    monkeypatch.setenv("DPCORE_PUBLIC_DEMO", "1")
    at = open_page(address)
    assert not at.exception and "public demo" in at.info[0].value
    assert not any(each.key == "release_now" for each in at.button)
