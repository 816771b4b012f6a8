"""An option of Decide as a column of a table: what its release shows, and whom it exposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from markupsafe import Markup

from dpcore.arrays import largest_entries
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
from dpcore.templates import data_uri, fill
from pages import cached

_N_FACTORS, _N_BARS, _SHOWN_RUNS = 10, 3, 10
_GOOD, _AXIS = "#009E73", "#8a8a8a"
_GRID = """
<div style="overflow-x:auto"><div style="display:grid;font-size:clamp(.7rem,1.6vw,.9rem);
grid-template-columns:minmax(4.5rem,1fr) repeat({{ n_columns }},minmax(3.5rem,1fr));
gap:.4rem clamp(.3rem,1.2vw,1rem);align-items:center">
{%- for line in lines %}{% for cell in line %}<div>{{ cell }}</div>{% endfor %}{% endfor -%}
</div></div>"""
_HEAD = """
<b>{{ name }}</b><br>ε\u00a0=\u00a0{{ epsilon }}
{%- if is_recommended %} <b style="color:{{ colour }}" title="recommended">✓</b>{% endif %}"""
_NAME = '<div style="overflow-wrap:anywhere">{{ name }}</div>'
_BAR = """
<div style="position:relative;height:1.3rem;
background:linear-gradient({{ axis }},{{ axis }}) center/1px 100% no-repeat">
{#- #}<div style="position:absolute;height:100%;background:{{ colour }};left:{{ start }};
width:{{ width }}"></div></div>"""
_PICTURES = """
{%- for png in strips -%}
<img src="{{ png | data_uri }}" alt="Ten rows rebuilt"
style="width:100%;image-rendering:pixelated;display:block;margin-bottom:.3rem">
{%- endfor %}"""


@dataclass(frozen=True)
class Utility:
    """Use of one release in the unit of its data.

    name: Name of the counted units, as the label of a line.
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
        """The numbers in words, with those without privacy, without a full stop."""
        return f"{self.finding} (without privacy {self.exact})"

    @property
    def finding(self) -> str:
        """The numbers in words, without a full stop."""
        return self.template.format(count=self.count, total=self.total)


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
        words = "{count} of {total} main factors are found again"
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
    words = "{count} of {total} hard cases are recognised"
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
    strongest = largest_entries(exact[0], _N_BARS)
    return (
        tuple(names[index] for index in strongest),
        tuple(exact[0][strongest].tolist()),
        tuple(loadings[strongest].tolist()),
    )


def options_grid(answer: Answer, dataset: DatasetStatus, *, dark: bool) -> Markup:
    """Return exact PCA and the options side by side as an HTML grid, the harm first."""
    options = answer.options
    heads = [
        fill(
            _HEAD,
            name=name_of(answer, option),
            epsilon=f"{option.epsilon:g}",
            is_recommended=answer.do_meet and option is answer.chosen,
            colour=_GOOD,
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
            *(fill("<b>{{ share }}</b>", share=percent(option.mean)) for option in options),
        ),
        _utility_line([utility(option) for option in options]),
        *_release_lines(dataset, options, dark=dark),
    ]
    return fill(_GRID, lines=lines, n_columns=len(options) + 1)


def name_of(answer: Answer, option: Option) -> str:
    """Return why an option is in the table."""
    if option is answer.chosen and answer.do_meet:
        return "Meets both"
    if answer.tolerated is not None and option.epsilon == answer.tolerated.epsilon:
        return f"Most use at {answer.most_right}"
    return f"For {percent(answer.target)}"


def _utility_line(utilities: Sequence[Utility]) -> tuple[str, ...]:
    first = utilities[0]
    explanation = f"{first.name}, out of {first.total}, with one release."
    return (
        _explained(first.name, explanation),
        f"{first.exact} / {first.total}",
        *(
            fill("<b>{{ count }}</b> / {{ total }}", count=utility.count, total=utility.total)
            for utility in utilities
        ),
    )


def _explained(text: str, explanation: str) -> Markup:
    return fill('<span title="{{ title }}">{{ text }}</span>', title=explanation, text=text)


def _dots(option: Option) -> Markup:
    count, alt = option.most_right, f"at most {option.most_right} of 100"
    # The sanitizer of `st.html` removes inline SVG.
    source = data_uri(accused_svg(count, alt, is_in=True).encode(), "image/svg+xml")
    return fill(
        '<b>{{ count }}</b><img src="{{ source }}" alt="{{ alt }}" style="width:100%">',
        count=count,
        source=source,
        alt=alt,
    )


def _release_lines(
    dataset: DatasetStatus, options: tuple[Option, ...], *, dark: bool
) -> list[tuple[str, ...]]:
    """Return the lines of the grid that show one release of each option."""
    spec = options[0].spec
    if dataset.image_shape is not None:
        strips_of = [rebuilt_strips(dataset, option, dark=dark) for option in options]
        strips_of.insert(0, exact_strips(dataset, spec, dark=dark))
        return [("Rebuilt", *(fill(_PICTURES, strips=strips) for strips in strips_of))]
    loadings = [strongest_loadings(option.spec, option.runs[0]) for option in options]
    names, exact, _ = loadings[0]
    colour = look_of("dpdis", dark=dark).colour
    columns = [(exact, ink(dark)), *((loadings, colour) for _, _, loadings in loadings)]
    longest = max(abs(value) for values, _ in columns for value in values) or 1.0
    return [
        (
            fill(_NAME, name=name.replace("_", " ")),
            *(_bar(values[number] / longest, colour) for values, colour in columns),
        )
        for number, name in enumerate(names)
    ]


def _bar(share: float, colour: str) -> Markup:
    start, width = 50 + 50 * min(share, 0), 50 * abs(share)
    return fill(_BAR, axis=_AXIS, colour=colour, start=f"{start:.1f}%", width=f"{width:.1f}%")
