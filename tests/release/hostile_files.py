"""Two hundred files: no tables, damaged tables, and attacks."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import pickle
import sqlite3
import zipfile
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

FRAME = pd.DataFrame({"other": ["x"] * 4, "age": [0, 50, 75, 200], "sex": ["f", "m", "?", "f"]})
PLAIN = b"age,sex\n1,f\n2,m\n"


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def parquet_of(table: pd.DataFrame | pa.Table, **options) -> bytes:
    file = io.BytesIO()
    table = pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    parquet.write_table(table, file, **options)
    return file.getvalue()


def workbook(*sheets: pd.DataFrame, preamble: int = 0) -> bytes:
    """Return a workbook with Sheet1, Sheet2, ..., each below some title rows."""
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="xlsxwriter") as writer:
        for number, sheet in enumerate(sheets, 1):
            sheet.to_excel(writer, sheet_name=f"Sheet{number}", startrow=preamble, index=False)
            for row in range(preamble):
                writer.sheets[f"Sheet{number}"].write(row, 0, f"title {row}")
    return file.getvalue()


SOUND = {
    "t.csv": FRAME.to_csv(index=False).encode(),
    "s.csv": b" age,sex \n0,f\n50,m\n75,?\n200,f\n",
    "t.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "t.csv.gz": gzip.compress(FRAME.to_csv(index=False).encode()),
    "u.csv": FRAME.to_csv(index=False).encode("utf-16"),
    "u.txt": FRAME.to_csv(index=False).encode("utf-32"),
    "p.csv": b'Survey of 2020\n\n"made, by hand";x\n' + FRAME.to_csv(index=False).encode(),
    "t.xlsx": workbook(FRAME),
    "t.CSV": b'\xef\xbb\xbf"age",sex\r\n 0 ,f\r\n+5e1,"m"\r\n75.0,\r\n200, f\r\n',
    "t.parquet": parquet_of(FRAME),
    "c.parquet": parquet_of(FRAME.astype({"sex": "category", "age": "float32"})),
    "t.npz": npz(age=FRAME.age.to_numpy(), sex=FRAME.sex.to_numpy().astype("U")),
}


def header(description: str) -> bytes:
    return b"\x93NUMPY\x01\x00v\x00" + description.encode().ljust(117) + b"\n"


def encrypted(archive: bytes) -> bytes:
    """Return the archive with its members marked as encrypted."""
    marked = bytearray(archive)
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := archive.find(start, at + 1)) >= 0:
            marked[at + flags] |= 1
    return bytes(marked)


def bomb(shape: str = "(268435456,)", megabytes: int = 9) -> bytes:
    """Return a small archive that unpacks to many megabytes, with a header that declares more."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, \
            archive.open("age.npy", "w", force_zip64=True) as member:  # fmt: skip
        member.write(header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"))
        for _ in range(megabytes):
            member.write(b"\0" * 2**20)
    return file.getvalue()


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "../"), content)
    return file.getvalue()


REFUSED = {
    "empty.csv": b"",
    "header.csv": b"age,sex",
    "lines.csv": b"\n\n\n",
    "ebcdic.csv": "age,sex\n1,f\n".encode("cp037"),
    "latin.csv": "age,sex\n1,é\n".encode("latin-1"),
    "kanji.csv": "age,sex\n1,女\n".encode("shift-jis"),
    "nul.csv": b"\0" * 100,
    "ragged.csv": b"age,sex\n1,f\n2\n",
    "late.csv": b"age,sex\n" + b"1,f\n" * 5000 + b"1,f,g\n",
    "wide.csv": b"age,sex\n1,f,3\n",
    "twice.csv": b"age,sex,age\n1,f,2\n",
    "lacking.csv": b"Age,sex\n1,f\n",
    "semicolons.csv": b"age;sex\n1;f\n",
    "tabs.csv": b"age\tsex\n1\tf\n",
    "rtl.csv": "\u202eage,sex\n1,f\n".encode(),
    "zero-width.csv": "a\u200bge,sex\n1,f\n".encode(),
    "formulas.csv": b'"=HYPERLINK(""http://x"")",sex\n1,f\n',
    "commas.csv": b",,,\n,,,\n",
    "columns.csv": b"age,sex," + b",".join(b"c%d" % i for i in range(100_000)) + b"\n1,f\n",
    "line.csv": b"age,sex\n1," + b"f" * 9_000_000 + b"\n",
    "gzip.csv": gzip.compress(PLAIN),
    "bomb.csv": gzip.compress(b"\0" * 50_000_000),
    "page.csv": b"<html><body>404</body></html>",
    "bomb.xml.csv": b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
    "rows.json.csv": json.dumps({"age": [1], "sex": ["f"]}).encode(),
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "program.csv": b"\x7fELF" + bytes(200),
    "workbook.xlsx": b"PK\x03\x04",
    "archive.csv": SOUND["t.npz"],
    "nothing.parquet": b"",
    "text.parquet": SOUND["t.csv"],
    "head.parquet": SOUND["t.parquet"][:200],
    "tail.parquet": SOUND["t.parquet"][200:],
    "magic.parquet": b"PAR1" + b"\xff" * 60 + b"PAR1",
    "footer.parquet": b"PAR1" + b"\0" * 60 + b"\xff\xff\xff\x7fPAR1",
    "none.parquet": parquet_of(FRAME[:0]),
    "lacking.parquet": parquet_of(FRAME[["age"]]),
    "lists.parquet": parquet_of(pa.table({"age": [[1]], "sex": ["f"]})),
    "times.parquet": parquet_of(pa.table({"age": pa.array([1], pa.timestamp("s")), "sex": ["f"]})),
    "bytes.parquet": parquet_of(pa.table({"age": [1], "sex": [b"f"]})),
    "structs.parquet": parquet_of(pa.table({"age": [{"x": 1}], "sex": ["f"]})),
    "nothing.npz": b"",
    "text.npz": SOUND["t.csv"],
    "cut.npz": SOUND["t.npz"][:300],
    "password.npz": encrypted(SOUND["t.npz"]),
    "bomb.npz": bomb(),
    "outside.npz": archive(__age=npy(np.zeros(3)), __sex=npy(np.zeros(3))),
    "nested.npz": archive(age=SOUND["t.npz"], sex=SOUND["t.npz"]),
    "pickle.npz": archive(**{"age.npy": pickle.dumps([1]), "sex.npy": pickle.dumps(["f"])}),
    "objects.npz": npz(age=np.array([object], dtype=object), sex=np.array(["f"])),
    "lengths.npz": npz(age=np.zeros(3), sex=np.zeros(2)),
    "cube.npz": npz(age=np.zeros((3, 1, 1)), sex=np.zeros((3, 1, 1))),
    "lacking.npz": npz(age=np.zeros(3)),
    "matrix.npz": npz(X=np.zeros((3, 5))),
    "nothing.npy": b"",
    "pickle.npy": pickle.dumps(np.zeros((3, 2))),
    "objects.npy": header("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"),
    "huge.npy": header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 2), }"),
    "below.npy": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2), }"),
    "code.npy": header("__import__('os').system('touch harm')"),
    "deep.npy": header("(" * 110),
    "scalar.npy": npy(np.float64(3)),
    "cube.npy": npy(np.zeros((3, 2, 2))),
    "narrow.npy": npy(np.zeros((3, 1))),
    "none.npy": npy(np.zeros((0, 2))),
    "fields.npy": npy(np.zeros(3, dtype=[("age", "f8"), ("sex", "U1")])),
    "none": PLAIN,
}  # fmt: skip


def _database() -> bytes:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people (age, sex)")
    return base.serialize()


# Unusual cells, which are released or refused in one sentence.
ODD_CELLS = (
    "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "nan", "NaN", "inf", "-Infinity", "1e308",
    "-1e309", "1e-320", "0x10", "1_000", "\u0661\u0662", "9" * 5000, "TRUE", "None", "2026-11-22",
    "\u202e12", "\ufeff1", "\u0000", "1 000", "1.2.3", "--5", "e5", "½", "\U0001f600",
    "../../etc/passwd", "'; DROP TABLE releases; --", "%s%n", "{0.__class__}", "<script>",
)  # fmt: skip


def odd() -> Iterator[tuple[str, bytes]]:
    for place, cell in enumerate(ODD_CELLS):
        yield f"cell{place}.csv", f"age,sex\n{cell},f\n1,{cell}\n".encode()
    yield "quoted.csv", b'age,sex\n"1,000","f"\n"3\n4",m\n'
    yield "open.csv", b'age,sex\n"1,f\n2,m\n'
    yield "bom.csv", codecs.BOM_UTF8 + PLAIN
    yield "mac.csv", PLAIN.replace(b"\n", b"\r")
    yield "long.csv", b"age,sex," + b"h" * 1_000_000 + b"\n1,f,x\n"
    yield "database.npy", _database()
    for kind in ("c16", "M8[s]", "S3", "U5", ">f8", "?", "f2", "i1", "u8", "g"):
        yield f"{kind.strip('>?')}{ord(kind[0])}.npy", npy(np.ones((4, 2)).astype(kind))
    yield "columns.npy", npy(np.asfortranarray(np.full((4, 2), np.nan)))
    yield "ends.npy", npy(np.array([[1e308, -1e308], [np.inf, -np.inf], [np.nan, 5e-324]]))
    many = FRAME.iloc[np.tile(np.arange(len(FRAME)), 5000)]
    for codec in ("gzip", "zstd", "brotli"):
        yield f"{codec}.parquet", parquet_of(many, compression=codec)
    yield (
        "decimals.parquet",
        parquet_of(pa.table({"age": pa.array([1, 2], pa.decimal128(5)), "sex": pa.nulls(2)})),
    )
    yield "flags.parquet", parquet_of(pa.table({"age": [True, None], "sex": ["f", "m"]}))
    rng = np.random.default_rng(0)
    for ending in ("csv", "parquet", "npz", "npy"):
        for size in (1, 7, 1000):
            yield f"noise{size}.{ending}", rng.bytes(size)
    for name, sound in SOUND.items():
        for damage in range(12):
            yield f"{damage}{name}", damaged(sound, damage, rng)


def damaged(sound: bytes, damage: int, rng: np.random.Generator) -> bytes:
    """Cut a file, change one byte, repeat its beginning, or replace nine bytes."""
    content, place = bytearray(sound), int(rng.integers(len(sound)))
    if damage % 4 == 0:
        content = content[:place]
    elif damage % 4 == 1:
        content[place] = int(rng.integers(256))
    elif damage % 4 == 2:
        content[place:place] = content[:place]
    else:
        content[place : place + 9] = rng.bytes(9)
    return bytes(content)


def with_people() -> Iterator[tuple[str, bytes]]:
    """Yield tables with a person column `who` and a site column `where`."""
    start = "who,where,age,sex\n"
    rows = {
        "two-sites": "a,x,1,f\na,y,2,f\na,x,3,f\nb,x,4,m\n",
        "nobody": ",x,1,f\n ,x,2,m\n",
        "like-nobody": "nan,x,1,f\nNone,x,2,m\nNULL,,3,f\n",
        "spaces": "a,x,1,f\n a,x,2,f\na ,x,3,f\n",
        "forms": "é,x,1,f\ne\u0301,x,2,f\n",
        "long": "p" * 100_000 + ",x,1,f\n",
        "numbers": "1,x,1,f\n1.0,x,2,f\n01,x,3,f\n",
        "many": "".join(f"p{i},x,{i % 100},f\n" for i in range(3000)),
        "formula": "=A1,x,1,f\n=A1,y,2,m\n",
    }
    for name, content in rows.items():
        yield f"people-{name}.csv", (start + content).encode()
    frame = pd.DataFrame({"who": [1, 1, None], "where": ["x", "y", "x"], "age": 1, "sex": "f"})
    yield "people-floats.parquet", parquet_of(frame)
    yield "people-flags.parquet", parquet_of(frame.assign(who=[True, False, True]))
    yield "people-lacking.csv", PLAIN
