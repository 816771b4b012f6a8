"""A visitor's own table: in one session, on every page of it, and nowhere else."""

from __future__ import annotations

import gc
import io
import logging
import weakref
import zipfile

import pytest

from dpcore.data.dataset import HeldTable, held_name
from dpcore.experiments.cca_runs import CcaProblem
from dpcore.experiments.once_cache import OnceCache
from dpcore.release import Project
from dpcore.release.verification import verify
from pages.server import background_jobs
from pages.shell import own_table
from pages.use import own_data
from pages.use.release import zipped
from tests.pages.looking import Opener, alive, gone, sentences, texts

PAGE, RELEASE = "use/own_data", "use/release"
ROWS = 40


def brought(open_page: Opener, mark: str):
    """A session that has brought a table with marked names and values, and looks at it."""
    return with_table(open_page, *marked(mark))


def marked(mark: str) -> tuple[str, str]:
    head = f"{mark}length,weight,{mark}group,{mark}place\n"
    table = head + "".join(
        f"{i % 9},{i * 1.5}e0,{mark}{'AB'[i % 2]},{mark}{'NESE'[i % 4]}\n" for i in range(ROWS)
    )
    limits = "lower = 0\nupper = 80\n"
    dictionary = (
        f'[rows]\nlabel = "{mark}group"\nsite = "{mark}place"\n'
        f"[columns.{mark}length]\n{limits}[columns.weight]\n{limits}"
    )
    return table, dictionary


def with_table(open_page: Opener, table: str, dictionary: str):
    """A session that uses a table by a dictionary on every page."""
    return used(open_page(PAGE), table, dictionary)


def used(at, table: str, dictionary: str):
    """The same session, on the page of its own table, once it has brought one."""
    at.file_uploader(key="own_file").upload("people.csv", table.encode(), "text/csv").run()
    assert not at.exception
    (chooser,) = (each for each in at.file_uploader if each.key.startswith("own_dictionary"))
    chooser.upload("d.toml", dictionary.encode(), "application/toml").run()
    (use,) = (each for each in at.button if each.label == "Use it on every page")
    use.click().run()
    assert not at.exception and not at.error, sentences(at)
    return at


def removed(at):
    """The same session, on that page, once it has removed its table."""
    (remove,) = (each for each in at.button if each.label == "Remove it")
    return remove.click().run()


def everything(at) -> str:
    """All that a session's browser was sent, in one string."""
    found, waiting = [], [at._tree]
    while waiting:
        node = waiting.pop()
        waiting += getattr(node, "children", {}).values()
        if (proto := getattr(node, "proto", None)) is not None:
            found.append(str(proto))
    return "".join(found)


def own_of(at) -> own_table.OwnTable:
    return at.session_state["_own_table"]


def test_an_example_is_on_every_page_with_one_click(open_page):
    at = open_page(PAGE)
    at.button(key="own_class-survey").click().run()
    assert not at.exception and "your-table" in at.selectbox(key="dataset").options
    assert at.query_params["dataset"] == "your-table"
    for page in ("explore/play", "explore/statistics", "use/best", "explore/cca"):
        at = gone(at, page)
        assert not at.exception and not at.error and not at.warning
        assert at.selectbox(key="dataset").value == own_of(at).held.name
        assert any("simulation" in text for text in texts(at))
    assert at.selectbox(key="cca_data").value == own_of(at).held.name
    at = removed(gone(at, PAGE))
    assert "your-table" not in at.selectbox(key="dataset").options
    assert at.selectbox(key="dataset").value == "digits" and not at.exception


def test_cca_cuts_it_by_names_that_stay_out_of_the_address(open_page):
    at = open_page(PAGE)
    at.button(key="own_breast-cancer").click().run()
    at = gone(at, "explore/cca")
    told = "".join(texts(at))
    assert "of the 3 best pairs survives" in told and "569 people" in told
    at.button_group(key="cca_table").set_value("chosen columns").run()
    (first,) = (each for each in at.multiselect if each.label == "Columns of the first view")
    assert first.options[0] == "mean radius"
    first.set_value(list(range(10))).run()
    assert not at.exception and not at.error
    # The second view has all others.
    assert "second view (20 columns)" in "".join(texts(at))
    assert "radius" not in str(at.query_params)
    kept = own_of(at).held.kept
    assert any(isinstance(each, CcaProblem) for cache in kept.values() for each in results(cache))


def results(cache: OnceCache) -> list[object]:
    return [kept.future.result() for kept in cache._results.values()]


def test_no_other_session_no_shared_cache_no_file_no_log_no_address(
    open_page, tmp_path, monkeypatch, caplog, capfd
):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    caplog.set_level(logging.DEBUG)
    marks = ("SECRETone", "SECRETtwo")
    sessions = [brought(open_page, mark) for mark in marks]
    for page in ("explore/play", "explore/tradeoffs", "explore/cca"):
        sessions = [gone(at, page) for at in sessions]
    names = [own_of(at).held.name for at in sessions]
    shown = [everything(at) for at in sessions] + [everything(open_page("explore/play"))]
    for number, (mark, name) in enumerate(zip(marks, names, strict=True)):
        others = "".join(text for other, text in enumerate(shown) if other != number)
        assert mark not in others and name not in others
        written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(mark.encode() in each or name.encode() in each for each in written)
        said = caplog.text + "".join(capfd.readouterr())
        assert mark not in said and name not in said
        assert mark not in str(sessions[number].query_params)
        assert name not in str(sessions[number].query_params)
    caches = [each for each in gc.get_objects() if type(each) is OnceCache]
    assert caches and not any(held_name(key) for cache in caches for key in cache._results)


def test_other_limits_are_of_the_same_people_who_have_paid(open_page):
    at = gone(brought(open_page, "SECRET"), "explore/play")
    books, before = at.session_state["_spent"], own_of(at).held.name
    spent = books[before].composed().mu
    at = gone(at, PAGE)
    (chooser,) = (each for each in at.file_uploader if each.key.startswith("own_dictionary"))
    wider = marked("SECRET")[1].replace("80", "90")
    chooser.upload("d.toml", wider.encode(), "application/toml").run()
    (use,) = (each for each in at.button if each.label == "Use it on every page")
    use.click().run()
    books, now = at.session_state["_spent"], own_of(at).held.name
    assert before not in books and books[now].composed().mu == pytest.approx(spent)
    at = gone(at, "explore/play")
    assert not at.exception
    assert books[now].composed().mu == pytest.approx(2**0.5 * spent)


def test_a_file_removed_and_brought_again_is_of_the_same_people_who_have_paid(open_page):
    at = gone(brought(open_page, "SECRET"), "explore/play")
    books, before = at.session_state["_spent"], own_of(at).held.name
    spent = books[before].composed().mu
    at = gone(at, PAGE)
    removed(at).button(key="own_class-survey").click().run()
    assert own_of(at).held.name not in at.session_state["_spent"]
    at = used(removed(at), *marked("SECRET"))
    books, now = at.session_state["_spent"], own_of(at).held.name
    assert before not in books and books[now].composed().mu == pytest.approx(spent)


def test_rows_that_are_all_equal_get_words_and_no_share(open_page):
    """Nothing over nothing was a ZeroDivisionError, or a share of what rounding left."""
    dictionary = "".join(f"[columns.{name}]\nlower = 0\nupper = 10\n" for name in "ab")
    at = with_table(open_page, "a,b\n" + "1,2\n" * 60, dictionary)
    for page in ("explore/play", "explore/central", "explore/eigen_images", "learn/algorithm"):
        at = gone(at, page)
        assert not at.exception
        assert [each.value for each in at.error if "equal ones have no variance" in each.value]
        assert "nan" not in "".join(texts(at)).lower()


def test_it_is_gone_with_its_session(open_page):
    at = gone(brought(open_page, "SECRET"), "explore/play")
    table: weakref.ref[HeldTable] = weakref.ref(own_of(at).held)
    rows = weakref.ref(table().dataset.X.base)
    background_jobs.start("x", own_of(at).held.name, dict)
    del at
    gc.collect()
    background_jobs.forget_gone()
    assert table() is None and rows() is None
    assert not any(held_name(key) for key in background_jobs.JOBS._jobs)


def test_pages_split_people_as_the_tables_own_column_does(open_page):
    at = brought(open_page, "SECRET")
    assert "They are at 3 sites, 10 to 20 people" in sentences(at)
    at = gone(at, "explore/play")
    assert at.slider(key="sites").value == 3 and at.slider(key="sites").disabled
    assert "given" in at.button_group(key="split").options and not at.exception
    at.selectbox(key="dataset").select("digits").run()
    assert at.button_group(key="split").value == "equal" and not at.slider(key="sites").disabled
    assert "given" not in at.button_group(key="split").options and not at.exception


def test_delta_is_at_most_one_in_ten_times_its_people(open_page):
    limits = "[columns.one]\nlower = 0\nupper = 9\n[columns.two]\nlower = 0\nupper = 9\n"
    at = open_page("explore/play", delta="0.001")
    at = used(gone(at, PAGE), "one,two\n" + "1,2\n3,5\n" * 6_000, limits)
    assert gone(at, "explore/play").select_slider(key="delta").value == 1e-6


def test_an_address_finds_nobodys_table(open_page):
    name = own_of(brought(open_page, "SECRET")).held.name
    for asked in ("your-table", name):
        at = open_page("explore/play", dataset=asked)
        assert at.selectbox(key="dataset").value == "mnist-small" and "must be" in sentences(at)


def test_a_page_says_in_a_sentence_what_a_table_is_too_small_for(open_page):
    table = "a,kind\n" + "0.5,x\n1,x\n" * 20
    at = with_table(open_page, table, '[rows]\nlabel="kind"\n[columns.a]\nlower=0\nupper=1\n')
    refusals = {
        "explore/play": "",
        "explore/statistics": "",
        "explore/cca": "two columns at least",
        "explore/classification": "as digits or mnist, got 'your table'",
    }
    for page, sentence in refusals.items():
        at = gone(at, page)
        assert not at.exception and sentence in sentences(at)
        assert bool(at.error or at.info) == bool(sentence)


HOSTILE = {
    "no table": ("a.csv", b"\xff\xfe"),
    "empty": ("a.csv", b""),
    "ragged": ("a.csv", b"a,b\n1\n"),
    "no parquet": ("a.parquet", b"PAR1"),
}


@pytest.mark.parametrize("which", HOSTILE)
def test_a_file_that_is_no_table_gets_one_sentence(open_page, which):
    at = open_page(PAGE)
    at.file_uploader(key="own_file").upload(*HOSTILE[which], "text/csv").run()
    assert not at.exception and len(at.error) == 1 and " must be " in at.error[0].value


def test_what_cannot_be_told_of_a_file_is_asked_and_read_so(open_page):
    """A title, another encoding, a total: a sentence, the form, the table, the last question."""
    at = open_page(PAGE)
    text = "Umfrage 2020\nGröße;Kosten;Kosten\n1,5;2;3\n2,5;4;5\nSumme 4\n".encode("latin-1")
    at.file_uploader(key="own_file").upload("t.csv", text, "text/csv").run()
    assert not at.exception and "as the header in line 1 has" in at.error[0].value
    assert "'2 in line 3'" in at.error[0].value
    at.selectbox(key="own_layout_encoding").set_value("latin-1")
    at.number_input(key="own_layout_line").set_value(2)
    at.number_input(key="own_layout_footer").set_value(1)
    (again,) = (each for each in at.button if each.label == "Read it so")
    again.click().run()
    assert not at.exception and not at.error, sentences(at)
    own = own_of(at)
    assert list(own.upload.columns) == ["Größe"] and own.upload.n_rows == 2
    told = "".join(texts(at))
    assert "Names of columns in line 2, a semicolon between cells, iso8859-1" in told
    assert "the name of 2 columns" in told
    at.button_group(key=f"own_decimal_{own.version}").set_value("comma").run()
    assert own.cells == {"decimal": ","} and own.upload.kind_of("Größe") == "numbers"


def test_a_column_of_which_nothing_is_read_is_said_before_anything_is_charged(open_page):
    table = "a,b\n" + "".join(f"{i},{i} mg\n" for i in range(20))
    limits = "lower = 0\nupper = 20\n"
    at = with_table(open_page, table, f"[columns.a]\n{limits}[columns.b]\n{limits}")
    said = "no row has a number, or a known level, in “b”"
    assert any(said in each.value for each in at.warning)
    at = gone(at, RELEASE)
    assert any(said in each.value for each in at.warning)
    at = with_table(open_page, table, f'[columns.a]\n{limits}[columns.b]\n{limits}unit = "mg"\n')
    assert not at.warning and not own_of(at).reading.missing["b"]


def test_names_in_a_file_are_letters_alone(open_page):
    at = open_page(PAGE)
    head = '"[foreign](http://foreign.example)",":red[foreign]"\n'
    at.file_uploader(key="own_file").upload("**foreign**.csv", f"{head}1,2\n".encode(), "").run()
    assert not at.exception and not any(alive(text) for text in texts(at))
    assert "Not ready yet" in "".join(texts(at))


def test_a_dictionary_of_another_table_changes_nothing(open_page):
    at = brought(open_page, "SECRET")
    before = own_of(at).dictionary
    (chooser,) = (each for each in at.file_uploader if each.key.startswith("own_dictionary"))
    chooser.upload("d.toml", b"[columns.height]\nlower=0\nupper=1\n", "").run()
    assert not at.exception and "of columns that the table has" in at.error[0].value
    assert own_of(at).dictionary is before


def test_a_plan_needs_a_dictionary_alone(open_page, monkeypatch):
    monkeypatch.setattr(own_data, "EPSILONS", (0.1, 10.0))
    at = open_page(PAGE)
    at.session_state["plan"] = True
    at.run()
    at.selectbox(key="plan_example").select("class-survey").run()
    at.number_input(key="plan_rows").set_value(3_000).run()
    at.button(key="plan_try").click().run()
    assert not at.exception and "3,000 rows like these" in "".join(texts(at))
    assert "_own_table" not in at.session_state


def test_a_release_from_a_table_to_a_folder_that_verifies(open_page, tmp_path):
    at = gone(brought(open_page, "SECRET"), RELEASE)
    told = "".join(texts(at))
    assert "Nothing is spent yet in this project" in told and "counted apart" not in told
    at.button(key="release_now").click().run()
    assert not at.exception and not at.error
    told = "".join(texts(at))
    assert "verified" in told and "not saved" in told and "With it" in told
    at.button(key="release_now").click().run()
    assert not at.error
    folder = at.session_state["_own_projects"].path / "people"
    releases = sorted(folder.glob("releases/*"))
    assert [path.name for path in releases] == ["release-1", "release-2"]
    assert all(verify(path).holds for path in releases)
    with zipfile.ZipFile(io.BytesIO(zipped(releases[0]))) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "release-1").holds
    spent = gone(at, "use/ledger")
    assert "Released for real: people" in "".join(texts(spent))
    assert list(spent.dataframe[0].value["Released"]) == ["release-1", "release-2"]
    gone(at, RELEASE)
    # Under another name nobody's ledger knows what these people have paid.
    at.text_input(key="release_project").set_value("others").run()
    assert "1 other project here, each with a ledger of its own" in "".join(texts(at))
    del at, spent
    gc.collect()
    assert not folder.exists()


def test_what_is_refused_is_said_and_not_charged(open_page):
    at = gone(brought(open_page, "SECRET"), RELEASE)
    at.select_slider(key="release_epsilon").set_value(0.1).run()
    at.text_input(key="release_name_1").set_value("../x").run()
    at.button(key="release_now").click().run()
    assert not at.exception and "name must be up to 64 letters" in at.error[0].value
    # A project's cap is for good: none has begun.
    assert not any(at.session_state["_own_projects"].path.iterdir())
    at.text_input(key="release_name_1").set_value("fine").run()
    at.button(key="release_now").click().run()
    at.select_slider(key="release_epsilon").set_value(1.0).run()
    assert "beyond the cap" in "".join(texts(at))
    at.text_input(key="release_name_2").set_value("second").run()
    at.button(key="release_now").click().run()
    assert not at.exception and "is left of the cap" in sentences(at)
    at.text_input(key="release_project").set_value("a/b").run()
    assert not at.exception and "project must be up to 64 letters" in at.error[0].value
    assert [each.name for each in own_project(at).releases()] == ["fine"]


def own_project(at) -> Project:
    return Project(at.session_state["_own_projects"].path / "people")


def test_only_an_owner_opens_a_folder(open_page, tmp_path, monkeypatch):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "people.csv").write_text("a,b\n1,2\n3,4\n")
    assert not any(each.label == "Open it" for each in open_page(PAGE).button)
    monkeypatch.setenv(own_table.FOLDER_VARIABLE, str(folder))
    at = open_page(PAGE)
    (opening,) = (each for each in at.button if each.label == "Open it")
    opening.click().run()
    assert not at.exception and own_of(at).upload.n_rows == 2
