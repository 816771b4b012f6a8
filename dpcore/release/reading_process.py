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
from dataclasses import asdict, dataclass, field
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
from dpcore.release.table_file import DAMAGED, REQUIREMENTS, Block, Header, TableFile

_MB = 10**6
_LONGEST_MESSAGE = 600
_WAIT = 30
_STEP = 1 << 20


@dataclass(frozen=True)
class ReadingLimits:
    """Limits of the process that reads a file.

    unpacked: Bytes of the columns.
    memory: Bytes that the process may take while it reads; systems other than Linux do not limit
        them.
    seconds: Processor time, and half of the time on the clock.
    """

    unpacked: int
    memory: int
    seconds: int


UPLOADED = ReadingLimits(unpacked=250 * _MB, memory=600 * _MB, seconds=30)
OF_THE_HOLDER = ReadingLimits(unpacked=2000 * _MB, memory=4000 * _MB, seconds=600)
# Processes at a time that read uploads of one server.
_MOST_AT_A_TIME = 2
# Status of a process that the limit of processor time ended.
_OUT_OF_TIME = -getattr(signal, "SIGXCPU", 24)
_slots = BoundedSemaphore(_MOST_AT_A_TIME)


@dataclass
class FileFacts:
    """Facts about a file that was read: its header, and how its cells are written.

    left_out: Columns that were not read, with the reason.
    Other attributes as in `Block`.
    """

    header: Header | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    are_texts: bool = False
    is_decimal_open: bool = False
    decimal: str | None = None
    thousands: str | None = None
    n_joined_lines: int = 0
    n_empty_rows: int = 0

    def block(self, columns: Mapping[str, pa.Array]) -> Block:
        """Return the columns with these facts."""
        block = Block(columns)
        for name in ("are_texts", "is_decimal_open", "decimal", "thousands", "n_joined_lines",
                     "n_empty_rows"):  # fmt: skip
            setattr(block, name, getattr(self, name))
        return block


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
    program = f"import sys; sys.path.insert(0, {root!r}); from {__name__} import main; main()"
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
        raise _out_of_memory(file, limits)
    if status != 0:
        raise ParameterError("data", REQUIREMENTS[file.ending], file.name)
    return answer


def _stop(process: subprocess.Popen[bytes], is_late: Event) -> None:
    is_late.set()
    process.kill()


def check_size(n_bytes: int, limits: ReadingLimits) -> None:
    """Refuse columns of more bytes than the limit."""
    if n_bytes > limits.unpacked:
        most = f"at most {limits.unpacked // _MB} MB unpacked"
        raise ParameterError("data", most, f"{n_bytes / _MB:,.0f} MB or more")


def _out_of_memory(file: TableFile, limits: ReadingLimits) -> ParameterError:
    constraint = f"a table that is read within {limits.memory // _MB} MB of memory"
    return ParameterError("data", constraint, file.name)


# ---- the process that reads


def main() -> None:
    """Read the request and the file from standard input, and write the columns."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    request = json.loads(source.read(int.from_bytes(source.read(8))))
    limits = ReadingLimits(**request["limits"])
    # Imported before memory is limited, as libraries reserve far more than they use.
    from dpcore.release.whole_file import write_columns

    content = source.read() if request["has_content"] else None
    file = TableFile(**request["file"], content=content)
    _limit_this_process(limits)
    answer: dict[str, Any]
    try:
        answer = asdict(write_columns(file, request["keys"], limits, sink))
    except ParameterError as error:
        answer = _as_json(error)
    except DataUnavailable as error:
        answer = {"unavailable": str(error)}
    except MemoryError:
        answer = _as_json(_out_of_memory(file, limits))
    except DAMAGED:
        answer = _as_json(ParameterError("data", REQUIREMENTS[file.ending], file.name))
    last = json.dumps(answer).encode()
    sink.write(last + len(last).to_bytes(8))
    sink.flush()


def _as_json(error: ParameterError) -> dict[str, str]:
    return {"parameter": error.parameter, "message": str(error)}


def _limit_this_process(limits: ReadingLimits) -> None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows: only the time on the clock is limited.
        return
    wanted = {"CORE": 0, "FSIZE": 0, "CPU": limits.seconds}
    if (pages := Path("/proc/self/statm")).exists():
        reserved = int(pages.read_text().split()[0]) * resource.getpagesize()
        wanted["AS"] = reserved + limits.memory
    for name, value in wanted.items():
        limit = getattr(resource, f"RLIMIT_{name}")
        _, hardest = resource.getrlimit(limit)
        lowest = value if hardest == resource.RLIM_INFINITY else min(value, hardest)
        # At the softer limit of processor time the signal is SIGXCPU.
        resource.setrlimit(limit, (lowest, hardest if name == "CPU" else lowest))
