"""Brief of a decision: a memo of one page and five slides, made from the runs of the options.

Titles are sentences with numbers, each slide has one figure, and the foot of each page names the
source, the settings and the date.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image, ImageDraw

from dpcore.experiments.engine.summaries import percent
from dpcore.figures.privacy import FALSE_ALARM, MISS, accused_svg
from dpcore.figures.style import GREY, look_of
from dpcore.pictograms import RADIUS, place_dots
from dpcore.privacy.label import OUT_OF, Label, Sight
from dpcore.privacy.label_page import sights_svg
from dpcore.spreadsheets import plain_cell
from dpcore.templates import fill, render

POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_ACCENT, _INK = "#0072B2", "#1a1a1a"


@dataclass(frozen=True)
class OptionSummary:
    """One option in words and numbers.

    title: Name and ε of the option.
    mean: Mean captured energy, as on the page.
    energies: Captured energy of each fresh run.
    hits: Number of fresh runs that reach the target.
    utility: Sentence about the use of the release, in the unit of its data.
    most_right: Largest number of 100 attackers who are right, knowing everything else.
    message_size: Size of the messages of one site.
    breach: Sentence about the ε that remains if trust is broken.
    pictures: PNG files of ten rebuilt rows, if the data are pictures.
    """

    title: str
    epsilon: float
    mean: float
    energies: tuple[float, ...]
    hits: int
    utility: str
    most_right: int
    message_size: str
    breach: str
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Brief:
    """Content of the memo and the slides.

    question, harm, answer: One sentence each.
    reason: Two sentences that say why.
    chosen: Recommended option, or the one with the most use within the tolerable harm.
    is_recommended: Whether the chosen option reaches the target.
    target: Share of captured energy that the release has to reach.
    least_share: Lower 95 % confidence limit of the share of releases that reach the target.
    rules: Sentences about the search and the fresh runs.
    label: Privacy label of the chosen option.
    foot: Source, version, settings, date and link.
    loadings: Names of columns, exact first component, first component of one run; for tables only.
    """

    question: str
    harm: str
    answer: str
    reason: str
    options: tuple[OptionSummary, ...]
    chosen: OptionSummary
    is_recommended: bool
    target: float
    trust: str
    least_share: float
    rules: tuple[str, ...]
    label: Label
    foot: str
    loadings: tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]] | None = None


# ---- memo


def render_memo(brief: Brief) -> str:
    """Return the decision as an HTML page that prints on one sheet and loads nothing."""
    page = render(
        Path(__file__).with_name("memo.html"),
        brief=brief,
        best=brief.chosen if brief.is_recommended else None,
        percent=percent,
        certainty=f"{_hits(brief)} At 95 % confidence, at least {percent(brief.least_share)} of "
        "all releases do. These runs had no part in the choice.",
        bars=_bars_svg(brief),
        guesses=_guesses(brief),
        accused_svg=_accused_svg,
        sights=sights_svg(brief.label.sights),
        delta=brief.label.as_dict()["delta_in_words"],
    )
    return _unbroken(page)


def _unbroken(text: str) -> str:
    """Return a text whose lines do not break between a number and its percent sign."""
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def _hits(brief: Brief) -> str:
    chosen = brief.chosen
    return f"{chosen.hits} of {len(chosen.energies)} fresh runs reach {percent(brief.target)}."


_BARS = """
<svg viewBox="0 0 740 {{ height }}" role="img" aria-label="{{ alt }}">
{%- for option in options %}{% set y = 30 * loop.index0 + 4 -%}
<text x="182" y="{{ y + 16 }}" text-anchor="end" font-size="15" fill="{{ ink }}">
{{- option.title }}</text>
<rect x="190" y="{{ y }}" height="22" width="{{ width(option.mean) }}" fill="{{ accent }}"/>
<text x="680" y="{{ y + 16 }}" font-size="15" fill="{{ ink }}">{{ percent(option.mean) }}</text>
{%- endfor -%}
<path d="M{{ x }} 0V{{ height - 20 }}" stroke="{{ ink }}" stroke-width="2" stroke-dasharray="5 3"/>
<text x="{{ x }}" y="{{ height - 5 }}" text-anchor="middle" font-size="14" fill="{{ ink }}">
{{- "target " ~ percent(target) }}</text></svg>"""


def _bars_svg(brief: Brief) -> Markup:
    """Return the mean captured energy of each option as horizontal bars, with the target."""
    options, whole = brief.options, 480
    return fill(
        _BARS,
        options=options,
        height=30 * len(options) + 26,
        alt="; ".join(f"{option.title}: {percent(option.mean)}" for option in options),
        width=lambda share: f"{whole * max(share, 0):.1f}",
        x=f"{190 + whole * brief.target:.1f}",
        target=brief.target,
        percent=percent,
        ink=_INK,
        accent=_ACCENT,
    )


def _accused_svg(count: int, is_in: bool) -> Markup:
    svg = accused_svg(count, f"{count} of {OUT_OF}", is_in=is_in)
    return Markup(svg)  # noqa: S704, made of numbers and constants


def _guesses(brief: Brief) -> tuple[tuple[int, str, bool], ...]:
    return (
        (OUT_OF // 2, "right without the release: a coin", False),
        (brief.chosen.most_right, "right with the release, at most", True),
    )


# ---- slides


@dataclass(frozen=True)
class Slide:
    """One slide: a title, a function that adds the figure, and notes for questions."""

    title: str
    add_figure: Callable[[Any], None]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Box:
    """Rectangle on a slide, in inches."""

    x: float
    y: float
    width: float
    height: float

    @property
    def lengths(self) -> tuple[Any, ...]:
        return _inches(self.x, self.y, self.width, self.height)


# Number format of a chart in PowerPoint.
_PERCENT = "0\u00a0%"
_TITLE = _Box(0.5, 0.2, 12.333, 0.75)
_FIGURE = _Box(0.5, 1.3, 12.3, 5.4)
# Longest title for each font size.
_TITLE_SIZES = ((50, 28), (90, 24), (130, 20), (math.inf, 16))


def slides_of(brief: Brief) -> tuple[Slide, ...]:
    """Return the slides of a brief, from the harm to the certainty."""
    chosen = brief.chosen
    at = f"ε = {chosen.epsilon:g}"
    costs = (f"{option.most_right} of 100 at ε = {option.epsilon:g}" for option in brief.options)
    names, means = (
        [option.title for option in brief.options],
        [option.mean for option in brief.options],
    )
    runs = [f"Run {n}" for n in range(1, len(chosen.energies) + 1)]
    return (
        Slide(
            brief.harm,
            lambda slide: _add_dots(slide, brief),
            (
                (
                    "Who is the attacker? A reader of the result who knows everything else and "
                    "guesses whether one person's row was used."
                ),
                f"And δ? {brief.label.as_dict()['delta_in_words']}",
            ),
        ),
        Slide(
            brief.answer,
            lambda slide: _add_means(slide, brief, names, means),
            (
                f"Why this option? {brief.reason}",
                f"What does more detail cost? Right at most: {', '.join(costs)}.",
                "What is captured energy? Share of the variance captured, relative to exact PCA.",
            ),
        ),
        Slide(
            f"{chosen.utility}, at {at}.",
            lambda slide: _add_pictures(slide, brief),
            (
                (
                    "Are these rows real? They belong to the data of this simulation and are "
                    "rebuilt from the components of one run. The components show no rows."
                ),
                "What was compared? One release with exact PCA; the comparison is not private.",
            ),
        ),
        Slide(
            f"{brief.trust} {chosen.breach}",
            lambda slide: _add_sights(slide, brief.label.sights),
            (
                *brief.label.trust,
                *(f"It holds if: {assumption}" for assumption in brief.label.assumptions),
            ),
        ),
        Slide(
            f"{_hits(brief)[:-1]}; at 95 % confidence at least {percent(brief.least_share)} of all "
            "releases do.",
            lambda slide: _add_shares(slide, runs, chosen.energies, brief.target, at),
            brief.rules,
        ),
    )


def make_presentation(brief: Brief) -> bytes:
    """Return the five slides as a PowerPoint file."""
    from pptx import Presentation

    file, presentation = BytesIO(), Presentation()
    presentation.slide_width, presentation.slide_height = _inches(13.333, 7.5)
    for content in slides_of(brief):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        _set_title(slide.shapes.title, content.title)
        content.add_figure(slide)
        _add_text(slide, [brief.foot], _Box(0.5, 6.85, 12.3, 0.5), 10)
        slide.notes_slide.notes_text_frame.text = "\n\n".join(
            ("Questions:", *content.notes, brief.foot)
        )
    presentation.save(file)
    return file.getvalue()


def _add_means(slide: Any, brief: Brief, names: Sequence[str], means: Sequence[float]) -> None:
    _add_shares(
        slide, names, means, brief.target, "mean captured energy", _Box(0.5, 1.9, 12.3, 4.8)
    )
    _add_text(slide, [brief.reason], _Box(0.5, 1.1, 12.3, 0.7), 18)


def _add_shares(
    slide: Any,
    names: Sequence[str],
    shares: Sequence[float],
    target: float,
    measured: str,
    box: _Box = _FIGURE,
) -> None:
    # Two options can look alike; the target's bar shows which of them reaches it.
    series = {measured: shares, f"target, {percent(target)}": [target] * len(shares)}
    _add_bars(slide, box, names, series, (_ACCENT, GREY), _PERCENT)


def _add_pictures(slide: Any, brief: Brief) -> None:
    if brief.loadings is not None:
        names, exact, released = brief.loadings
        series: dict[str, Sequence[float]] = {
            "without privacy": exact,
            brief.chosen.title: released,
        }
        _add_bars(slide, _FIGURE, names, series, (_INK, look_of("dpdis").colour), "0.0")
        return
    for number, option in enumerate(brief.options):
        top = 1.5 + 1.75 * number
        words = [option.title, f"{option.utility}."]
        _add_text(slide, words, _Box(0.5, top, 2.9, 1.5), 14)
        for column, png in enumerate(option.pictures):
            at = (3.5 + 4.65 * column, top)
            _add_png(slide, _enlarged(png), at, 4.6, option.title)


def _add_dots(slide: Any, brief: Brief) -> None:
    for number, (count, words, is_in) in enumerate(_guesses(brief)):
        x = 0.5 + 6.3 * number
        png = _dots_png(count, FALSE_ALARM if is_in else MISS)
        _add_png(slide, png, (x + 0.75, 1.2), 4.4, f"{count} of 100 dots")
        _add_text(slide, [f"{count} of 100 {words}"], _Box(x, 5.75, 5.9, 0.6), 22, bold=True)


def _add_sights(slide: Any, sights: Sequence[Sight]) -> None:
    """Add a box for each party, from the people to the reader, with the data that it sees."""
    boxes = [
        ("People", "their own row"),
        *((sight.who, _sight_in_words(sight)) for sight in sights),
    ]
    width = 12.3 / len(boxes)
    for number, (name, words) in enumerate(boxes):
        box = _Box(0.5 + width * number, 2.0, width - 0.35, 3.2)
        shape = slide.shapes.add_shape(1, *box.lengths)
        shape.fill.background()
        x = box.x + 0.1
        _add_text(slide, [name], _Box(x, 2.1, box.width - 0.2, 0.6), 16, bold=True)
        _add_text(slide, [words], _Box(x, 2.8, box.width - 0.2, 2.3), 13)
        if number:
            _add_text(slide, ["→"], _Box(box.x - 0.42, 3.2, 0.5, 0.5), 20)


def _sight_in_words(sight: Sight) -> str:
    if sight.is_trusted:
        return f"Sees {sight.sees}; trusted."
    if sight.epsilon is None:
        return f"Sees {sight.sees}: no guarantee holds."
    return f"Sees {sight.sees}: ε\u00a0=\u00a0{sight.epsilon:.3g}."


# ---- elements of a slide


def _inches(*lengths: float) -> tuple[Any, ...]:
    from pptx.util import Inches

    return tuple(map(Inches, lengths))


def _points(size: float) -> Any:
    from pptx.util import Pt

    return Pt(size)


def _rgb(colour: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(colour.lstrip("#").upper())


def _set_title(title: Any, text: str) -> None:
    box = dict(zip(("left", "top", "width", "height"), _TITLE.lengths, strict=True))
    for name, length in box.items():
        setattr(title, name, length)
    title.text = _unbroken(text)
    paragraph = title.text_frame.paragraphs[0]
    paragraph.font.size = _points(next(size for most, size in _TITLE_SIZES if len(text) <= most))
    paragraph.alignment = 1


def _add_text(
    slide: Any, lines: Sequence[str], box: _Box, size: float, *, bold: bool = False
) -> None:
    frame = slide.shapes.add_textbox(*box.lengths).text_frame
    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text = _unbroken(line)
        paragraph.font.size, paragraph.font.bold = _points(size), bold
        paragraph.space_after = _points(size / 3)


def _add_bars(
    slide: Any,
    box: _Box,
    names: Sequence[str],
    series: dict[str, Sequence[float]],
    colours: Sequence[str],
    number_format: str,
) -> None:
    """Add a native bar chart, with the first name at the top."""
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION

    data = CategoryChartData(number_format=number_format)
    data.categories = list(map(plain_cell, names))
    for name, values in series.items():
        data.add_series(name, values)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *box.lengths, data).chart
    chart.has_title, chart.has_legend = False, True
    chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    chart.category_axis.reverse_order = True
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    axis = chart.value_axis
    axis.has_major_gridlines = False
    axis.tick_labels.number_format = number_format
    axis.tick_labels.number_format_is_linked = False
    (plot,) = chart.plots
    plot.gap_width, plot.overlap = 60, 0
    if number_format.endswith("%"):
        axis.minimum_scale, axis.maximum_scale = 0, 1
        # The target is in the legend; its labels would cover those of the runs.
        labels = plot.series[0].data_labels
        labels.show_value = True
        labels.number_format, labels.number_format_is_linked = _PERCENT, False
    else:
        farthest = max(abs(value) for values in series.values() for value in values)
        end = math.ceil(10 * farthest) / 10
        axis.minimum_scale, axis.maximum_scale = -end, end
        axis.axis_title.text_frame.text = "loading in the first component"
    for bars, colour in zip(plot.series, colours, strict=True):
        bars.format.fill.solid()
        bars.format.fill.fore_color.rgb = _rgb(colour)
        bars.invert_if_negative = False


def _add_png(slide: Any, png: bytes, at: tuple[float, float], width: float, alt: str) -> None:
    x, y, wide = _inches(*at, width)
    shape = slide.shapes.add_picture(BytesIO(png), x, y, width=wide)
    shape._element.nvPicPr.cNvPr.set("descr", alt)  # noqa: SLF001  python-pptx has no public name


def _enlarged(png: bytes) -> bytes:
    """Return a picture with repeated pixels, because PowerPoint smooths enlarged pictures."""
    picture, file = Image.open(BytesIO(png)), BytesIO()
    factor = max(1, 1200 // picture.width)
    size = (factor * picture.width, factor * picture.height)
    picture.convert("RGB").resize(size, Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()


def _dots_png(count: int, colour: str) -> bytes:
    """Return a picture of a hundred dots, the first `count` filled."""
    side, file = 80, BytesIO()
    picture = Image.new("RGB", (10 * side, 10 * side), "#ffffff")
    draw = ImageDraw.Draw(picture)
    for number, (x, y) in enumerate(place_dots(columns=10)):
        fill_colour = colour if number < count else "#ffffff"
        draw.circle((side * x, side * y), side * RADIUS, fill_colour, _INK, 3)
    picture.resize((5 * side, 5 * side), Image.Resampling.LANCZOS).save(file, "PNG")
    return file.getvalue()
