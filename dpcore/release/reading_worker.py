"""Process that reads a file within its limits and writes its columns to standard output."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.reading_limits import ReadingLimits, out_of_memory
from dpcore.release.table_file import DAMAGED, REQUIREMENTS, TableFile
from dpcore.release.whole_file import write_columns


def main() -> None:
    """Read the request and the file from standard input, and write the columns.

    Memory is limited after the libraries are imported, which reserve far more than they use.
    """
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    request = json.loads(source.read(int.from_bytes(source.read(8))))
    limits = ReadingLimits(**request["limits"])
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
        answer = _as_json(out_of_memory(file, limits))
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
