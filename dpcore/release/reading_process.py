"""Read a whole file in a process of its own, with limits of memory and time.

A small file can take all memory when it is read, or end the process that reads it: it may declare
any size, and libraries trust it. The process returns Arrow arrays and JSON; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from threading import BoundedSemaphore, Event, Timer
from typing import Any

import pyarrow as pa

import dpcore
from dpcore.errors import (
    DataUnavailable,
    ParameterError,
    restore_parameter_error,
    truncate_text,
)
from dpcore.release.reading_limits import (
    UPLOADED,
    FileFacts,
    ReadingLimits,
    check_size,
    out_of_memory,
)
from dpcore.release.reading_worker import main
from dpcore.release.table_file import REQUIREMENTS, Block, Header, TableFile

_LONGEST_MESSAGE = 600
_WAIT = 30
_STEP = 1 << 20
# Largest number of processes that read uploads of one server.
_MOST_AT_A_TIME = 2
# Status of a process that the limit of processor time ended.
_OUT_OF_TIME = -getattr(signal, "SIGXCPU", 24)
_slots = BoundedSemaphore(_MOST_AT_A_TIME)


def read_in_process(
    file: TableFile, keys: Sequence[str] | None = None, limits: ReadingLimits = UPLOADED
) -> tuple[Block, FileFacts]:
    """Return columns of a file, read in a process of its own.

    keys: Columns to read; none gives the header only. Default: all that have a name of their own.
    Raises `ParameterError` if the file is not a table or needs more than the limits allow, and
        `DataUnavailable` if a library is missing.
    """
    request = {
        "file": {name: value for name, value in asdict(file).items() if name != "content"}
        | {"path": str(file.path)},
        "has_content": file.content is not None,
        "keys": None if keys is None else list(keys),
        "limits": asdict(limits),
    }
    with _slot(file) if limits is UPLOADED else nullcontext():
        answer = _answer_of(json.dumps(request).encode(), file, limits)
    n_last = int.from_bytes(answer[-8:])
    result = json.loads(bytes(answer[-8 - n_last : -8]))
    if "message" in result:
        message = truncate_text(str(result["message"]), _LONGEST_MESSAGE)
        raise restore_parameter_error(str(result["parameter"]), message)
    if "unavailable" in result:
        raise DataUnavailable(truncate_text(str(result["unavailable"]), _LONGEST_MESSAGE))
    header = result.pop("header")
    facts = FileFacts(**result, header=None if header is None else _header(header))
    return facts.block(_columns_of(answer, len(answer) - 8 - n_last)), facts


@contextmanager
def _slot(file: TableFile) -> Any:
    if not _slots.acquire(timeout=_WAIT):
        raise ParameterError("data", "sent again later: the server reads other tables", file.name)
    try:
        yield
    finally:
        _slots.release()


def _header(stated: Mapping[str, Any]) -> Header:
    return Header(**{**stated, "names": tuple(stated["names"])})


def _columns_of(answer: bytearray, n_bytes: int) -> dict[str, pa.Array]:
    if n_bytes == 0:
        return {}
    with pa.ipc.open_stream(pa.py_buffer(memoryview(answer)[:n_bytes])) as stream:
        table = stream.read_all()
    table.validate(full=True)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # An array holds at most 2 GB of text.
        columns[name] = (
            pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        )
    return columns


def _answer_of(request: bytes, file: TableFile, limits: ReadingLimits) -> bytearray:
    """Return the bytes that the process writes."""
    root = str(Path(dpcore.__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {root!r}); from {main.__module__} import main; main()"
    )
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
             "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )  # fmt: skip
    is_late = Event()
    timer = Timer(2 * limits.seconds, _stop, [process, is_late])
    timer.daemon = True
    timer.start()
    answer = bytearray()
    try:
        # The process reads all input before it answers, so writing first cannot deadlock.
        with suppress(BrokenPipeError), process.stdin as sink:  # type: ignore[union-attr]
            sink.write(len(request).to_bytes(8) + request)
            sink.write(file.content or b"")
        while more := process.stdout.read(_STEP):  # type: ignore[union-attr]
            answer += more
            check_size(len(answer) - _STEP, limits)
        status = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
    if is_late.is_set() or status == _OUT_OF_TIME:
        raise ParameterError("data", f"a table that is read in {limits.seconds} s", file.name)
    if status < 0:
        # Libraries without exceptions abort, and the system kills, if memory runs out.
        raise out_of_memory(file, limits)
    if status != 0:
        raise ParameterError("data", REQUIREMENTS[file.ending], file.name)
    return answer


def _stop(process: subprocess.Popen[bytes], is_late: Event) -> None:
    is_late.set()
    process.kill()
