"""An option of Decide as a column of a table: what its release shows, and whom it exposes."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

import numpy as np

from dpcore.data import DatasetStatus
from dpcore.experiments.decide.decision import (
    Answer,
    Option,
    count_kept_factors,
    count_strong_factors,
    share_recognised,
)
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.rebuilt_rows import INK, rebuild_rows, rebuild_rows_about
from dpcore.figures.images import ink_strip, picture_strip
from dpcore.figures.privacy import accused_svg
from dpcore.figures.style import ink, look_of
from dpcore.spectra import align_signs
from dpcore.streams import Purpose, stream
from pages import cached
from pages.components.brief import data_uri

_N_FACTORS, _N_BARS, _SHOWN_RUNS = 10, 3, 10
_GOOD, _AXIS = "#009E73", "#8a8a8a"


@dataclass(frozen=True)
class Utility:
    """Use of one release in the unit of its data.

    name: Name of what is counted, as the label of a line.
    template: Sentence with {count} and {total}, without a full stop.
    count, total: Number found with the release, out of how many.
    exact: Number found without privacy.
    """

    name: str
    template: str
    count: int
    total: int
    exact: int

    @property
    def sentence(self) -> str:
        """The numbers in words, without a full stop."""
        words = self.template.format(count=self.count, total=self.total)
        return f"{words} (without privacy {self.exact})"


def utility(option: Option) -> Utility:
    """Return the use of a release: of a table the mean of its runs, else the first run."""
    return _utility(option.spec, option.runs[:_SHOWN_RUNS])


@cached.cached(64)
def _utility(spec: RunSpec, runs: tuple[int, ...]) -> Utility:
    key = spec.problem_key()
    problem, prepared = cached.problems(key), cached.problems.prepared(*key.data)
    exact = problem.exact_components
    released = [cached.subspaces(spec, run)[spec.protocols[0]] for run in runs]
    if prepared.image_shape is None or prepared.labels is None:
        n_factors = count_strong_factors(exact, _N_FACTORS)
        counts = [
            count_kept_factors(subspace.components, exact, n_factors) for subspace in released
        ]
        words = "Of the {total} main factors {count} are found again"
        return Utility(
            "Main factors found again", words, round(fmean(counts)), n_factors, n_factors
        )
    subspace = released[0]
    components = subspace.components
    centre = np.zeros(exact.shape[1]) if subspace.centre is None else subspace.centre
    private, without = (
        share_recognised(
            prepared.X, prepared.labels, rows, about, rng=stream(spec.seed, Purpose.SAMPLE)
        )
        for rows, about in (
            (components, np.asarray(centre)),
            (exact[: len(components)], problem.centre),
        )
    )
    words = "Of {total} hard cases {count} are recognised"
    return Utility(
        "Hard cases recognised", words, math.floor(100 * private), 100, math.floor(100 * without)
    )


def rebuilt_strips(dataset: DatasetStatus, option: Option, *, dark: bool) -> tuple[bytes, ...]:
    """Return ten rows rebuilt from the first run, as PNG files."""
    spec = cached.single(option.spec)
    return _strips(dataset, spec, _rebuilt_levels(spec, option.runs[0]), dark=dark)


def exact_strips(dataset: DatasetStatus, spec: RunSpec, *, dark: bool) -> tuple[bytes, ...]:
    """Return the same rows rebuilt from exact components, as PNG files."""
    spec = cached.single(spec)
    return _strips(dataset, spec, _rebuilt_levels(spec, None), dark=dark)


@cached.cached(64)
def _rebuilt_levels(spec: RunSpec, run: int | None) -> bytes:
    """Return grey levels of ten rows rebuilt from a run, or from exact components for None."""
    example_rows, problem = cached.shown_rows(spec), cached.problems(spec.problem_key())
    if run is not None:
        subspace = cached.subspaces(spec, run)[spec.protocols[0]]
        rows = rebuild_rows(example_rows.rows, subspace, problem)
    else:
        k = spec.settings(problem.n_features, problem.default_components).n_components
        components = problem.exact_components[:k]
        rows = rebuild_rows_about(example_rows.rows, components, problem.centre)
    levels: bytes = example_rows.levels(rows).tobytes()
    return levels


def _strips(
    dataset: DatasetStatus, spec: RunSpec, levels: bytes, *, dark: bool
) -> tuple[bytes, ...]:
    shape = dataset.image_shape or (1, 1)
    pictures = np.frombuffer(levels, np.uint8).reshape(-1, math.prod(shape)) / 255
    is_ink = spec.dataset in INK
    return tuple(
        ink_strip(part, shape, dark=dark) if is_ink else picture_strip(part, shape)
        for part in np.array_split(pictures, 2)
    )


@cached.cached(64)
def strongest_loadings(
    spec: RunSpec, run: int
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the columns with the largest loadings in the exact first component.

    Returns (names, exact loadings, loadings of the run).
    """
    exact = cached.problems(spec.problem_key()).exact_components[:1]
    released = cached.subspaces(spec, run)[spec.protocols[0]].components[:1]
    loadings = align_signs(released, exact)[0]
    names = cached.feature_names(spec)
    strongest = np.argsort(-np.abs(exact[0]), kind="stable")[:_N_BARS]
    return (
        tuple(names[index] for index in strongest),
        tuple(exact[0][strongest].tolist()),
        tuple(loadings[strongest].tolist()),
    )


def options_grid(answer: Answer, dataset: DatasetStatus, *, dark: bool) -> str:
    """Return exact PCA and the options side by side as an HTML grid, the harm first."""
    options = answer.options
    heads = [
        f"<b>{name_of(answer, option)}</b><br>ε\u00a0=\u00a0{option.epsilon:g}"
        + (
            f' <b style="color:{_GOOD}" title="recommended">✓</b>'
            if answer.do_meet and option is answer.chosen
            else ""
        )
        for option in options
    ]
    lines = [
        ("", "Exact PCA", *heads),
        (
            _explained(
                "Right, of 100",
                "Of 100 attackers who know everything else, how many are right about a person, at "
                "most. A coin is right 50 times.",
            ),
            "100",
            *(_dots(option) for option in options),
        ),
        (
            _explained("Captured energy", "Share of the variance captured, relative to exact PCA."),
            "100 %",
            *(f"<b>{percent(option.mean)}</b>" for option in options),
        ),
        _utility_line([utility(option) for option in options]),
        *_release_lines(dataset, options, dark=dark),
    ]
    cells = "".join(f"<div>{cell}</div>" for line in lines for cell in line)
    return (
        '<div style="overflow-x:auto"><div style="display:grid;font-size:clamp(.7rem,1.6vw,.9rem);'
        f"grid-template-columns:minmax(4.5rem,1fr) repeat({len(options) + 1},minmax(3.5rem,1fr));"
        f'gap:.4rem clamp(.3rem,1.2vw,1rem);align-items:center">{cells}</div></div>'
    )


def name_of(answer: Answer, option: Option) -> str:
    """Return why an option is in the table."""
    if option is answer.chosen and answer.do_meet:
        return "Both"
    if answer.tolerated is not None and option.epsilon == answer.tolerated.epsilon:
        return f"Most use at {answer.most_right}"
    return f"For {percent(answer.target)}"


def _utility_line(utilities: Sequence[Utility]) -> tuple[str, ...]:
    first = utilities[0]
    explanation = f"{first.name}, out of {first.total}, with one release."
    return (
        _explained(first.name, explanation),
        f"{first.exact} / {first.total}",
        *(f"<b>{utility.count}</b> / {utility.total}" for utility in utilities),
    )


def _explained(text: str, explanation: str) -> str:
    return f'<span title="{escape(explanation)}">{escape(text)}</span>'


def _dots(option: Option) -> str:
    alt = f"at most {option.most_right} of 100"
    # The sanitizer of `st.html` removes inline SVG.
    svg = b64encode(accused_svg(option.most_right, alt, is_in=True).encode()).decode()
    picture = f'<img src="data:image/svg+xml;base64,{svg}" alt="{alt}" style="width:100%">'
    return f"<b>{option.most_right}</b>{picture}"


def _release_lines(
    dataset: DatasetStatus, options: tuple[Option, ...], *, dark: bool
) -> list[tuple[str, ...]]:
    """Return the lines of the grid that show one release of each option."""
    spec = options[0].spec
    if dataset.image_shape is not None:
        strips_of = [rebuilt_strips(dataset, option, dark=dark) for option in options]
        strips_of.insert(0, exact_strips(dataset, spec, dark=dark))
        return [("Rebuilt", *("".join(map(_picture, strips)) for strips in strips_of))]
    loadings = [strongest_loadings(option.spec, option.runs[0]) for option in options]
    names, exact, _ = loadings[0]
    colour = look_of("dpdis", dark=dark).colour
    columns = [(exact, ink(dark)), *((loadings, colour) for _, _, loadings in loadings)]
    longest = max(abs(value) for values, _ in columns for value in values) or 1.0
    return [
        (
            f'<div style="overflow-wrap:anywhere">{escape(name.replace("_", " "))}</div>',
            *(_bar(values[number] / longest, fill) for values, fill in columns),
        )
        for number, name in enumerate(names)
    ]


def _bar(share: float, fill: str) -> str:
    start, width = 50 + 50 * min(share, 0), 50 * abs(share)
    return (
        f'<div style="position:relative;height:1.3rem;background:linear-gradient({_AXIS},{_AXIS}) '
        'center/1px 100% no-repeat">'
        f'<div style="position:absolute;height:100%;background:{fill};left:{start:.1f}%;'
        f'width:{width:.1f}%"></div></div>'
    )


def _picture(png: bytes) -> str:
    style = "width:100%;image-rendering:pixelated;display:block;margin-bottom:.3rem"
    return f'<img src="{data_uri(png)}" alt="Ten rows rebuilt" style="{style}">'
