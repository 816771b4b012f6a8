"""Your table: from an example or a file to the other pages, in one session only."""

from __future__ import annotations

import gc
import logging
import weakref
from datetime import date

import pytest

from dpcore.data.dataset import held_name
from dpcore.experiments.engine.cache import OnceCache
from dpcore.release.common_limits import find_common_limits
from pages.use import session_table
from tests.pages.opening import texts, visit

PAGE = "own_table"
SURVEY = "age,weight_kg,score\n" + "".join(f"{20 + i},{50 + i % 9},{i % 7}\n" for i in range(60))


def state_of(at) -> session_table.OwnTable:
    return at.session_state["_own_table"]


def upload(at, name: str, content: str | bytes):
    (chooser,) = (
        uploader for uploader in at.file_uploader if uploader.label.startswith("Your table")
    )
    data = content.encode() if isinstance(content, str) else content
    return chooser.upload(name, data, "text/csv").run()


def fill(at, limits: dict[str, tuple[float, float]]):
    state = state_of(at)
    for name, (lower, upper) in limits.items():
        at.number_input(key=state.key("lower", name)).set_value(lower)
        at.number_input(key=state.key("upper", name)).set_value(upper)
    return at


def submit(at):
    (button,) = (button for button in at.button if button.label == "Use these facts")
    return button.click().run()


def brought(open_page, mark: str = ""):
    """Open a session with a table of marked column names and its limits."""
    at = upload(open_page(PAGE), f"t{mark}.csv", SURVEY.replace("score", f"score{mark}"))
    return submit(fill(at, {f"score{mark}": (0, 10)}))


def test_an_example_is_loaded_with_a_figure_and_listed_among_the_data_sets(open_page):
    at = open_page(PAGE)
    assert not at.exception and not at.error
    assert "captured energy at ε = 1" in at.title[0].value
    assert len(at.get("plotly_chart")) == 1
    name = state_of(at).rows.name
    at = visit(at, "explore")
    assert name in [status.name for status in _statuses(at)]
    # Visiting the page is no choice: the other pages keep their data set.
    assert at.session_state["dataset"] == "mnist-small"
    at = visit(at, PAGE)
    (use,) = (button for button in at.button if button.label == "Use on all pages")
    use.click().run()
    at = visit(at, "explore")
    assert not at.exception and at.session_state["dataset"] == name
    assert name not in str(dict(at.query_params))


def _statuses(at):
    state = at.session_state["_own_status"]
    return [state]


def test_limits_are_offered_from_the_name_and_a_table_is_used_with_plain_fields(open_page):
    at = upload(open_page(PAGE), "survey.csv", SURVEY)
    assert not at.exception and "How small and large" in at.title[0].value
    state = state_of(at)
    assert at.number_input(key=state.key("lower", "age")).value == 0
    assert at.number_input(key=state.key("upper", "age")).value == 120
    assert at.number_input(key=state.key("upper", "weight_kg")).value == 700
    assert at.number_input(key=state.key("upper", "score")).value is None
    at = submit(at)
    assert at.error[0].value == "Give both limits of “score”, or do not select it."
    assert "got" not in at.error[0].value
    # Typed limits stay while the missing limits are added.
    at = submit(fill(at, {"score": (0, 10)}))
    assert not at.exception and not at.error
    assert "captured energy" in at.title[0].value
    limits = {
        column.name: (column.lower, column.upper) for column in state_of(at).dictionary.columns
    }
    assert limits == {"age": (0, 120), "weight_kg": (0, 700), "score": (0, 10)}


def test_offered_limits_depend_on_names_only():
    assert find_common_limits("Age") == find_common_limits("age_at_entry") == (0, 120)
    assert find_common_limits("sysBP") is not None and find_common_limits("SBP [mmHg]") is not None
    assert find_common_limits("HeightCm") == (20, 280)
    assert find_common_limits("wage") is None and find_common_limits("x1") is None


def test_decimal_marks_codes_and_dates_are_chosen_on_the_page(open_page):
    lines = "".join(f"{i},5;{1 + i % 28}.03.2020;{i if i % 5 else -999}\n" for i in range(60))
    at = upload(open_page(PAGE), "t.csv", "cost;visit;n\n" + lines)
    state = state_of(at)
    at.button_group(key=state.key("decimal")).set_value("comma").run()
    at.text_input(key=state.key("missing")).set_value("-999").run()
    at.selectbox(key=state.key("date_order")).set_value("day-month-year").run()
    (dates,) = (field for field in at.multiselect if field.label == "Columns of dates")
    dates.set_value(["visit"]).run()
    state = state_of(at)
    at.date_input(key=state.key("lower", "visit")).set_value(date(2020, 1, 1))
    at.date_input(key=state.key("upper", "visit")).set_value(date(2020, 12, 31))
    at = submit(fill(at, {"cost": (0, 100), "n": (0, 60)}))
    assert not at.exception and not at.error, [error.value for error in at.error]
    state = state_of(at)
    assert not state.unreadable and state.reading.missing == {"n": 12}
    assert state.dictionary.decimal == "," and state.dictionary.missing == ("-999",)


def test_examples_of_unreadable_cells_are_shown_to_the_holder_only(open_page):
    table = "a,b\n" + "".join(f"{i},{i}.5 mg\n" for i in range(20))
    at = upload(open_page(PAGE), "t.csv", table)
    (numbers,) = (field for field in at.multiselect if field.label == "Columns of numbers")
    numbers.set_value(["a", "b"]).run()
    at = submit(fill(at, {"a": (0, 20), "b": (0, 20)}))
    (warning,) = at.warning
    assert "b: “0.5 mg”" in warning.value
    assert not any("0.5 mg" in text for text in texts(visit(at, "decide")).splitlines())


HOSTILE = {
    "no table": ("a.csv", b"\xff\xfe"),
    "empty": ("a.csv", b""),
    "ragged": ("a.csv", b"a,b\n1\n"),
    "no parquet": ("a.parquet", b"PAR1"),
    "another kind": ("a.pdf", b"%PDF"),
}


@pytest.mark.parametrize("which", HOSTILE)
def test_a_file_that_is_no_table_gets_one_sentence_and_the_example_stays(open_page, which):
    at = upload(open_page(PAGE), *HOSTILE[which])
    assert not at.exception and len(at.error) == 1 and " must be " in at.error[0].value
    assert state_of(at).is_example


def test_an_unclear_layout_is_asked_for(open_page):
    text = "Umfrage 2020\nGröße;Kosten;Kosten\n1,5;2;3\n2,5;4;5\nSumme 4\n".encode("latin-1")
    at = upload(open_page(PAGE), "t.csv", text)
    state = state_of(at)
    at.selectbox(key=state.key("layout", "pending", "text_encoding")).set_value("latin-1")
    at.number_input(key=state.key("layout", "pending", "header_line")).set_value(2)
    at.number_input(key=state.key("layout", "pending", "footer_lines")).set_value(1)
    (again,) = (button for button in at.button if button.label == "Read")
    again.click().run()
    assert not at.exception and not at.error
    state = state_of(at)
    assert list(state.upload.columns) == ["Größe"] and state.upload.n_rows == 2
    assert "the name of 2 columns" in texts(at)


def test_an_unreadable_file_leaves_the_table_before(open_page):
    """A refused file has a form of its own beside that of the table in use."""
    at = upload(open_page(PAGE), "a.csv", SURVEY)
    at = upload(at, "b.csv", 'a,b\n1,2\n"3,4\n5,6\n')
    assert not at.exception and "1 cell in line 3" in at.error[0].value
    assert "2 cells in every line" in at.error[0].value and "quote" in at.error[0].value
    assert state_of(at).upload.name == "a.csv"


@pytest.mark.parametrize("encoding", ["shift_jis", "gbk"])
def test_texts_of_other_alphabets_are_read(open_page, encoding):
    at = upload(open_page(PAGE), "t.csv", "年齢,性別\n20,女\n30,男\n".encode(encoding))
    state = state_of(at)
    at.selectbox(key=state.key("layout", "pending", "text_encoding")).set_value(encoding)
    (again,) = (button for button in at.button if button.label == "Read")
    again.click().run()
    assert not at.exception and list(state_of(at).upload.columns) == ["年齢", "性別"]


def test_a_file_name_is_shown_as_plain_text(open_page):
    name = "![x](https://example.org/a.png).csv"
    at = upload(open_page(PAGE), name, SURVEY.replace("score", "age2"))
    at = submit(fill(at, {"age2": (0, 10)}))
    assert not at.exception and "captured energy" in at.title[0].value
    # Code, in which nothing is a picture.
    assert at.title[0].value.startswith(f"`{name}`:")


def test_a_table_takes_at_most_a_small_dictionary(open_page):
    at = open_page(PAGE)
    (chooser,) = (uploader for uploader in at.file_uploader if "dictionary" in uploader.label)
    chooser.upload("d.toml", b"# " + b"x" * 300_000, "").run()
    assert not at.exception and "at most 262,144 bytes" in at.error[0].value


def test_a_dictionary_of_another_table_changes_nothing(open_page):
    at = open_page(PAGE)
    before = state_of(at).dictionary
    (chooser,) = (uploader for uploader in at.file_uploader if "dictionary" in uploader.label)
    chooser.upload("d.toml", b"[columns.height]\nlower=0\nupper=1\n", "").run()
    assert not at.exception and "of columns that the table has" in at.error[0].value
    assert state_of(at).dictionary is before


def test_other_limits_keep_what_these_people_have_spent(open_page):
    at = brought(open_page)
    before = state_of(at).rows.name
    spent = at.session_state["_accountants"][before].composed().mu
    at = submit(fill(at, {"score": (0, 20)}))
    accountants, now = at.session_state["_accountants"], state_of(at).rows.name
    assert now != before and before not in accountants
    assert accountants[now].composed().mu > spent


def test_no_other_session_cache_file_log_or_address_has_it(
    open_page, tmp_path, monkeypatch, caplog, capfd
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    caplog.set_level(logging.DEBUG)
    marks = ("SECRETone", "SECRETtwo")
    sessions = [brought(open_page, mark) for mark in marks]
    shown = [texts(at) for at in sessions] + [texts(open_page(PAGE))]
    for number, mark in enumerate(marks):
        name = state_of(sessions[number]).rows.name
        others = "".join(text for other, text in enumerate(shown) if other != number)
        assert mark not in others and name not in others
        written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(mark.encode() in content or name.encode() in content for content in written)
        logged = caplog.text + "".join(capfd.readouterr())
        assert mark not in logged and name not in logged
        assert mark not in str(sessions[number].query_params)
    caches = [element for element in gc.get_objects() if type(element) is OnceCache]
    assert caches and not any(held_name(key) for cache in caches for key in cache._results)


def test_it_is_gone_with_its_session(open_page):
    at = brought(open_page)
    table = weakref.ref(state_of(at).rows)
    rows = weakref.ref(table().dataset.X.base)
    del at
    gc.collect()
    assert table() is None and rows() is None


def test_a_public_demo_takes_no_table_and_shows_the_example(open_page, monkeypatch):
    monkeypatch.setenv("DPCORE_PUBLIC_DEMO", "1")
    at = open_page(PAGE)
    assert not at.exception and "captured energy" in at.title[0].value
    assert not any(uploader.label.startswith("Your table") for uploader in at.file_uploader)


def test_only_an_owner_opens_a_folder(open_page, tmp_path, monkeypatch):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "people.csv").write_text("a,b\n1,2\n3,4\n")
    assert not any(button.label == "Open" for button in open_page(PAGE).button)
    monkeypatch.setenv(session_table.FOLDER_VARIABLE, str(folder))
    at = open_page(PAGE)
    (opening,) = (button for button in at.button if button.label == "Open")
    opening.click().run()
    assert not at.exception and state_of(at).upload.n_rows == 2
