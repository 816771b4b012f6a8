"""Results on standard output; progress on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from statistics import fmean, stdev
from typing import TypeVar

from tqdm import tqdm

from dpcore.experiments.engine.experiment import Row

R = TypeVar("R", bound=Row)


class _Aside:
    """Standard error, for what is said beside the results: if nobody hears it, no matter."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stderr, name)


ASIDE = _Aside()


def versions() -> dict[str, str]:
    """Versions that numbers may depend on."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document in ASCII; infinities become the string "inf", since JSON has none."""
    json.dump(finite(document), sys.stdout, indent=1)
    sys.stdout.write("\n")


def finite(value: object) -> object:
    """The same with infinities and NaN as strings."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def with_progress(rows: Iterable[R], total: int, label: str) -> Iterator[R]:
    """The same rows, counted on standard error."""
    yield from tqdm(rows, total=total, desc=label, unit="row", file=ASIDE)


def print_summary(rows: Sequence[Row], varying: Sequence[str] = ()) -> None:
    """Mean and spread of the energy ratio, one line a protocol and cell."""
    groups: dict[tuple[tuple[object, ...], str], list[Row]] = {}
    for row in rows:
        cell = tuple(row[field] for field in varying)
        groups.setdefault((cell, row["protocol"]), []).append(row)
    head = "".join(f"{field:>18}  " for field in varying)
    print(f"{head}{'protocol':<10} {'energy':>8} {'spread':>7} {'exact ε':>9} {'bytes/site':>11}")
    for (cell, protocol), members in groups.items():
        ratios = [row["energy_ratio"] for row in members]
        spread = stdev(ratios) if len(ratios) > 1 else 0.0
        first = "".join(f"{_short(value):>18}  " for value in cell)
        print(
            f"{first}{protocol:<10} {fmean(ratios):8.4f} {spread:7.4f}"
            f" {members[0]['exact_epsilon']:9.3g} {members[0]['bytes_per_site']:11,}"
        )


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
