"""Damaged data files give a sound data set or one sentence."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.data import census, covtype, insurance, kddcup99, localization, pictures
from dpcore.data.dataset import Dataset
from dpcore.data.official_files import LocalFile, OfficialFile, read_idx
from dpcore.data.table_encoding import Nominal
from dpcore.errors import DataUnavailable

ROWS = 6
MOST_BYTES = 200_000
WORDS = (
    b"nan", b"inf", b"-1", b"1e999", b"1e308", b"", b" ", b"1_0", b"0x10", b"8", b"<b>x</b>",
    b"\xff\xfe", "٣".encode(), b"9" * 400, b"\x00", b'"1"', b"1.5.", b"#", b"1,2",
)  # fmt: skip


def _table(columns, n_fields: int, separator: bytes) -> bytes:
    lines = []
    for row in range(ROWS):
        fields = [b"1"] * n_fields
        for column in columns:
            if isinstance(column, Nominal):
                fields[column.position] = column.levels[row % len(column.levels)].encode()
        lines.append(separator.join(fields))
    return b"\n".join(lines) + b"\n"


def _covertype_row(row: int) -> bytes:
    area, soil = np.eye(4, dtype=int)[row % 4], np.eye(40, dtype=int)[row]
    return ",".join(map(str, [100] * 10 + [*area] + [*soil] + [row % 7 + 1])).encode()


def _rows_of(n_columns: int, separator: bytes = b" ") -> bytes:
    return (separator.join([b"1"] * n_columns) + b"\n") * ROWS


def _of_openml(content: bytes) -> bytes:
    return b"@RELATION mnist\n@DATA\n" + content


def _idx(*files: LocalFile) -> Dataset:
    array = read_idx(files[0][0])
    assert array.dtype == np.uint8
    raise DataUnavailable(f"{files[0][0].path}: no data set by itself")


_INSURANCE = (*insurance.INSURANCE_COLUMNS, insurance._LABEL)
_INSURED = _table(_INSURANCE, 86, b"\t")
LOADERS: dict[str, tuple[Callable, tuple[bytes, ...]]] = {
    "idx": (_idx, (bytes([0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 4]) + bytes(12),)),
    "openml": (pictures.load_mnist_openml, (_of_openml(_rows_of(785, b",")),)),
    "covtype": (
        functools.partial(covtype.load_covtype_part, part_of_rows=ROWS),
        (b"\n".join(map(_covertype_row, range(ROWS))),),
    ),
    "kddcup99": (
        kddcup99.load_kddcup,
        (_table((*kddcup99.KDDCUP_COLUMNS, kddcup99._LABEL), 42, b","),),
    ),
    "localization": (
        localization.load_localization,
        (_table(localization.LOCALIZATION_COLUMNS, 8, b","),),
    ),
    "census": (census.load_census, (_table(census.CENSUS_COLUMNS, 42, b","),)),
    "insurance": (
        insurance.load_insurance,
        (
            _INSURED,
            b"\n".join(line.rpartition(b"\t")[0] for line in _INSURED.splitlines()),
            b"\n".join(line.rpartition(b"\t")[2] for line in _INSURED.splitlines()),
        ),
    ),
    "mfeat": (pictures.load_mfeat, tuple(_rows_of(n) for n, _ in pictures.VIEWS.values())),
}


@pytest.fixture(scope="module", autouse=True)
def small_files():
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (pictures, "_N_PICTURES"), (kddcup99, "_ROWS"), (localization, "_ROWS"),
            (census, "_ROWS"), (insurance, "_N_TRAINING"), (insurance, "_N_EVALUATION"),
            (insurance, "_N_POLICIES"), (pictures, "_N_NUMERALS"),
        ):  # fmt: skip
            patch.setattr(module, name, ROWS)
        patch.setattr(pictures, "_ROWS_PER_DIGIT", 1)
        patch.setattr(pictures, "np", _TenDigits())
        yield


class _TenDigits:
    """NumPy, except that files of two thousand numerals have labels of six."""

    def __getattr__(self, name: str):
        return (lambda *_: np.arange(ROWS)) if name == "repeat" else getattr(np, name)


@st.composite
def damages(draw) -> list[Callable[[bytes], bytes]]:
    """Draw a sequence of damages to a file."""
    return draw(st.lists(st.one_of(_cut(), _flip(), _field(), _line(), _whole()), max_size=4))


def _cut():
    return st.floats(0, 1).map(lambda share: lambda data: data[: int(share * len(data))])


@st.composite
def _flip(draw):
    share, byte = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(0, 255))

    def flip(data: bytes) -> bytes:
        place = int(share * len(data))
        return data[:place] + bytes([byte]) + data[place + 1 :]

    return flip


@st.composite
def _field(draw):
    share, word = draw(st.floats(0, 1, exclude_max=True)), draw(st.sampled_from(WORDS))
    separator = draw(st.sampled_from([b",", b"\t", b" "]))

    def replace(data: bytes) -> bytes:
        fields = data.split(separator)
        fields[int(share * len(fields))] = word
        return separator.join(fields)

    return replace


@st.composite
def _line(draw):
    share = draw(st.floats(0, 1, exclude_max=True))
    what = draw(st.sampled_from(["drop", "twice", "blank", "long"]))

    def change(data: bytes) -> bytes:
        lines = data.split(b"\n")
        place = int(share * len(lines))
        line = lines[place]
        lines[place : place + 1] = {
            "drop": [], "twice": [line, line], "blank": [b"", line], "long": [line * 50],
        }[what]  # fmt: skip
        return b"\n".join(lines)

    return change


def _whole():
    return st.sampled_from(
        [
            gzip.compress,
            lambda data: gzip.compress(data)[:-6],
            lambda data: gzip.compress(data) + b"more",
            lambda data: b"\x1f\x8b" + data,
            lambda data: gzip.compress(bytes(4 * MOST_BYTES)),
            lambda data: bytes([0, 0, 8, 4]) + b"\xff" * 16 + data[:9],
            lambda data: bytes([0, 0, 8, 255]) + data,
            lambda data: data.decode("latin-1").encode("utf-16"),
            lambda data: b"\xef\xbb\xbf" + data,
            lambda data: data.replace(b"\n", b"\r\n"),
            lambda data: data.replace(b"\n", b"\r"),
            lambda data: b"",
        ]
    )


@pytest.mark.parametrize("name", LOADERS)
@settings(settings.get_profile("fuzz"))
@given(damages=damages(), which=st.integers(0, 5))
def test_a_damaged_file_is_sound_or_refused_in_one_sentence(tmp_path_factory, name, damages, which):
    folder: Path = tmp_path_factory.getbasetemp() / f"fuzzed-{name}"
    folder.mkdir(exist_ok=True)
    load, contents = LOADERS[name]
    files = []
    for number, whole in enumerate(contents):
        content = whole
        if number == which % len(contents):
            content = functools.reduce(lambda left, damage: damage(left), damages, whole)
        path = folder / f"file{number}"
        path.write_bytes(content)
        files.append(LocalFile(path, OfficialFile(path.name, most_bytes=MOST_BYTES)))
    try:
        dataset = load(tuple(files))
    except DataUnavailable as error:
        assert "\n" not in str(error) and len(str(error)) < 600
        assert any(str(file.path) in str(error) for file in files)
    else:
        assert len(dataset.X) == len(dataset.labels) >= ROWS
        assert np.isfinite(dataset.X).all()
        assert dataset.labels.min() >= 0
        assert dataset.labels.max() < len(dataset.label_names)
        assert dataset.X.shape[1] == len(dataset.feature_names)
    assert len(list(folder.iterdir())) == len(contents)


@pytest.mark.parametrize("name", sorted(set(LOADERS) - {"idx", "openml"}))
def test_undamaged_files_are_read(tmp_path, name):
    load, contents = LOADERS[name]
    files = []
    for number, content in enumerate(contents):
        (tmp_path / f"file{number}").write_bytes(content)
        files.append(LocalFile(tmp_path / f"file{number}", OfficialFile(f"file{number}")))
    assert len(load(tuple(files)).X) >= ROWS
