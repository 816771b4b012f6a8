"""Releases of tables larger than memory, beside the bare block products and reads of the same file.

    python tests/benchmarks/bench_streaming.py [FOLDER] [ROWS ...]

Writes uint8 tables of 784 columns as .npy and .parquet (0.8 GB a million rows each), releases five
components of each in a process of its own, as the command does, and removes them. The bare process
reads the file twice, in the same blocks, as float64, and multiplies once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpcore.release import Column, Dictionary, Reading, Table
from dpcore.release.publication import PublicationSettings, write_release

D, BLOCK = 784, 1 << 15
NAMES = tuple(f"pixel {i}" for i in range(D))
PEOPLE = Dictionary(tuple(Column(name, 0, 255) for name in NAMES))


def blocks(n_rows: int) -> Iterator[np.ndarray]:
    """Pixels that five factors move."""
    rng = np.random.default_rng(0)
    loads = rng.normal(size=(5, D)).astype(np.float32)
    for start in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - start)
        rows = rng.standard_normal((size, 5), np.float32) @ loads * 20 + 128
        rows += rng.standard_normal((size, D), np.float32) * 10
        yield np.clip(rows, 0, 255).astype(np.uint8)


def write(path: Path, n_rows: int) -> None:
    if path.suffix == ".npy":
        matrix = np.lib.format.open_memmap(path, "w+", np.uint8, (n_rows, D))
        start = 0
        for block in blocks(n_rows):
            matrix[start : start + len(block)] = block
            start += len(block)
        return
    schema = pa.schema([(name, pa.uint8()) for name in NAMES])
    with parquet.ParquetWriter(path, schema, compression="none") as file:
        for block in blocks(n_rows):
            file.write_table(pa.table(dict(zip(NAMES, block.T, strict=True)), schema))


def bare(path: Path) -> None:
    table = Table(path, NAMES)
    for products in (False, True):
        total = np.zeros((D, D))
        for block in table.blocks():
            if block.matrix is not None:
                rows = block.matrix.astype(np.float64)
            else:
                rows = np.empty((len(block[NAMES[0]]), D), order="F")
                for place, name in enumerate(NAMES):
                    rows[:, place] = block[name].to_numpy()
            if products:
                total += rows.T @ rows


def released(path: Path) -> None:
    with tempfile.TemporaryDirectory() as project:
        asked = PublicationSettings(1.0, 1e-9, 5, "sphere", 0.1)
        write_release(
            path, PEOPLE, asked, project=project, name="one", cap=(1.1, 1e-8), reading=Reading()
        )


def measured(what: str, path: Path) -> dict[str, float]:
    """Seconds, seconds of processors, and most memory in MB, of a process of its own."""
    command = [sys.executable, __file__, "--only", what, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _least(what: str, path: Path) -> dict[str, float]:
    """Of two runs the least of each figure: others on the machine only add to them."""
    first, second = measured(what, path), measured(what, path)
    return {name: min(figure, second[name]) for name, figure in first.items()}


def only(what: str, path: Path) -> None:
    started, busy = time.perf_counter(), time.process_time()
    {"bare": bare, "release": released}[what](path)
    # Not `ru_maxrss`, which begins with that of whoever started this process.
    status = Path("/proc/self/status").read_text().splitlines()
    most = [line for line in status if line.startswith("VmHWM")]
    figures = {
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - busy,
        "memory": int(most[0].split()[1]) / 1024,
    }
    print(json.dumps(figures))


def main(folder: Path, rows: list[int]) -> None:
    print(f"BLAS threads: {os.environ.get('OPENBLAS_NUM_THREADS', 'all')}")
    print("format        rows   release s   bare s   ratio   processor s   bare   ratio   MB")
    for ending in (".npy", ".parquet"):
        for n_rows in rows:
            path = folder / f"streaming{ending}"
            write(path, n_rows)
            try:
                least, ours = _least("bare", path), _least("release", path)
            finally:
                path.unlink()
            wall, work = least["seconds"], least["processor"]
            print(
                f"{ending:9}{n_rows:9,}{ours['seconds']:12.1f}{wall:9.1f}"
                f"{ours['seconds'] / wall:8.2f}{ours['processor']:14.1f}{work:7.1f}"
                f"{ours['processor'] / work:8.2f}{ours['memory']:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        only(sys.argv[2], Path(sys.argv[3]))
    else:
        main(
            Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()),
            [int(each) for each in sys.argv[2:]] or [100_000, 300_000, 1_000_000],
        )
