"""`reproduce`, for the figures of the 2012 paper, which run by themselves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dpcore.command_line.output import with_progress
from dpcore.command_line.sweeping import run_options, write_csv
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.papers.dpdispca_claims import Verdict
from dpcore.experiments.papers.nips2012_figures import LiveFigure, live_figure


@dataclass(frozen=True)
class Reproduced:
    """What one figure gave."""

    figure: LiveFigure
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...]

    def document(self) -> dict[str, object]:
        """The figure as part of a JSON document."""
        return {
            "figure": self.figure.name,
            "title": self.figure.title,
            "claim": self.figure.claim,
            "note": self.figure.note,
            "claims": [asdict(verdict) for verdict in self.verdicts],
            "published": self.figure.published or None,
            "ran_on": self.figure.ran_on,
            "rows": self.rows,
            "skipped": self.figure.skipped(),
        }


def reproduce_live(name: str, arguments: argparse.Namespace) -> Reproduced:
    """Run a figure of the 2012 paper with a count on standard error."""
    figure, repetitions = live_figure(name), arguments.repetitions
    if repetitions is not None and repetitions < 1:
        raise ParameterError("repetitions", "at least 1", repetitions)
    store = run_options(arguments)["store"]
    rows = tuple(
        with_progress(
            figure.rows(seed=arguments.seed, repetitions=repetitions, store=store),
            figure.total(repetitions),
            name,
        )
    )
    return Reproduced(figure, rows, figure.check(rows))


def write_live(folder: Path, found: Reproduced) -> None:
    """CSV, HTML and SVG of one figure."""
    # The drawing library takes half a second that most commands have no use for.
    from dpcore.figures.families.central import accuracy_dots
    from dpcore.figures.tradeoffs.energy import energy_curves
    from dpcore.figures.tradeoffs.svg import accuracy_dots_svg, energy_curves_svg

    figure = found.figure
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / f"{figure.name}.csv", found.rows)
    if figure.field == "task":
        chart = accuracy_dots(found.rows, figure.published)
        svg = accuracy_dots_svg(found.rows, title=figure.title, published=figure.published)
    else:
        drawn = drawn_rows(found.rows)
        chart = energy_curves(drawn, figure.field, axis_title=figure.axis)
        svg = energy_curves_svg(drawn, figure.field, title=figure.title, axis_title=figure.axis)
    chart.update_layout(title=figure.title, margin={"t": 90})
    chart.write_html(folder / f"{figure.name}.html", include_plotlyjs="directory")
    (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")


def drawn_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of curves: exact PCA and random subspaces are drawn as levels."""
    return [row for row in rows if row["protocol"] not in ("exact", "random")]
