"""Results on standard output; progress on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from statistics import fmean, stdev

from tqdm import tqdm

Row = dict[str, object]


def versions() -> dict[str, str]:
    """Versions that numbers may depend on."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def print_json(document: dict[str, object]) -> None:
    """One JSON document; infinities become the string "inf", since JSON has none."""
    json.dump(_finite(document), sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def with_progress(rows: Iterable[Row], total: int, label: str) -> Iterator[Row]:
    """The same rows, counted on standard error."""
    yield from tqdm(rows, total=total, desc=label, unit="row", file=sys.stderr)


def print_summary(rows: list[Row], varying: str | None = None) -> None:
    """Mean and spread of the energy ratio, one line a protocol and value."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.get(varying), row["protocol"]), []).append(row)
    head = f"{varying:>12}  " if varying else ""
    print(f"{head}{'protocol':<10} {'energy':>8} {'spread':>7} {'exact ε':>9} {'bytes/site':>11}")
    for (value, protocol), members in groups.items():
        ratios = [row["energy_ratio"] for row in members]
        spread = stdev(ratios) if len(ratios) > 1 else 0.0
        first = f"{value:>12g}  " if varying else ""
        print(
            f"{first}{protocol:<10} {fmean(ratios):8.4f} {spread:7.4f}"
            f" {members[0]['exact_epsilon']:9.3g} {members[0]['bytes_per_site']:11,}"
        )
