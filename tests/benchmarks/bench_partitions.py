"""Cost of a release of a folder of Parquet files, by rows, columns and Dask workers.

    python -m tests.benchmarks.bench_partitions --rows 2e6 --columns 256 --workers 1 2

Writes the folder once (uniform numbers in eight files), starts a scheduler and so many workers of
one thread each in processes of their own, and times exact sum and second moment, which are all of
a release that grows with its rows. One line of JSON a run: seconds, bytes of the sums that
travelled, the most memory that a worker has had, and a hash of the exact sums, which is one for
all runs of a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpcore.release import Column, Dictionary, Reading, Table, calibrated
from dpcore.release.measurement import moment_around, sum_and_count

_ROW_GROUP = 1 << 16


def write_folder(folder: Path, n_rows: int, n_columns: int, n_files: int = 8) -> None:
    """Write uniform single-precision numbers, unless the folder exists."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for number in range(n_files):
        rng, writer = np.random.default_rng((n_rows, number)), None
        for start in range(0, n_rows // n_files, _ROW_GROUP):
            n_some = min(_ROW_GROUP, n_rows // n_files - start)
            some = rng.random((n_columns, n_some), dtype=np.float32)
            table = pa.table({f"x{column}": cells for column, cells in enumerate(some)})
            if writer is None:
                path = folder / f"part-{number}.parquet"
                writer = parquet.ParquetWriter(
                    path, table.schema, compression="none", use_dictionary=False
                )
            writer.write_table(table)
        if writer is not None:
            writer.close()


def peak_megabytes() -> float:
    """Return the largest memory of this process so far."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def run(folder: Path, n_columns: int, scheduler: str | None) -> dict[str, object]:
    """Return the seconds of both readings, and a hash of their results."""
    dictionary = Dictionary(tuple(Column(f"x{i}", 0, 1) for i in range(n_columns)))
    scales = calibrated(dictionary, epsilon=1.0, delta=1e-6)
    started = time.perf_counter()
    table, reading = Table(folder, dictionary.keys, n_columns), Reading()
    total = sum_and_count(table, dictionary, scales, reading, scheduler=scheduler)
    between = time.perf_counter()
    centre = np.zeros(n_columns)
    moment = moment_around(table, dictionary, scales, centre, on_sphere=True, scheduler=scheduler)
    seconds = between - started, time.perf_counter() - between
    n_parts = len(table.parts())
    return {
        "rows": reading.n_rows,
        "columns": n_columns,
        "seconds": round(sum(seconds), 2),
        "seconds_sum": round(seconds[0], 2),
        "seconds_moment": round(seconds[1], 2),
        "parts": n_parts,
        "bytes_of_sums": n_parts * 8 * (n_columns + n_columns**2) if scheduler else 0,
        "sha256": sha256(total.tobytes() + moment.tobytes()).hexdigest()[:16],
    }


def main() -> None:
    """Read the command line, and print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="0: no cluster")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    n_rows, n_columns = int(arguments.rows), arguments.columns
    folder = arguments.folder / f"parts-{n_rows}-{n_columns}"
    write_folder(folder, n_rows, n_columns)
    for n_workers in arguments.workers * arguments.repeat:
        load = os.getloadavg()[0]
        if n_workers == 0:
            measured = run(folder, n_columns, None) | {"worker_megabytes": round(peak_megabytes())}
        else:
            from distributed import LocalCluster

            with LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0",
                silence_logs=50,
            ) as cluster:  # fmt: skip
                with cluster.get_client() as client:
                    before = client.run(time.process_time)
                    measured = run(folder, n_columns, cluster.scheduler_address)
                    after, peaks = client.run(time.process_time), client.run(peak_megabytes)
                measured["worker_megabytes"] = round(max(peaks.values()))
                # What the busiest worker computed: seconds of a processor of its own.
                measured["worker_cpu_seconds"] = round(
                    max(after[counter] - before[counter] for counter in after), 2
                )
        print(json.dumps({"workers": n_workers, "load": round(load, 1)} | measured), flush=True)


if __name__ == "__main__":
    main()
