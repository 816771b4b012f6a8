"""A deck as PowerPoint slides: charts whose numbers can be edited, pictures, the promise, notes."""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from statistics import fmean
from typing import Any

from PIL import Image

from dpcore.experiments.engine.experiment import Row
from dpcore.figures.style import GREY, INK_LIGHT, look_of
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.tradeoffs.axes import AXES
from pages.parameters.words import plain
from pages.presenting.views import View
from pages.server import frames_cache
from pages.use.deck.told import Curves, Told, here

_WIDE, _HIGH, _EDGE = 13.333, 7.5, 0.5  # inches: 16:9
_TOP, _PROMISES = 2.05, 6.35
_EXACT, _CHANCE = "Exact PCA", "Pure chance"
_LUCK, _RELEASE = "a coin", "whoever sees the release"
_USUAL_AXIS = 12


@dataclass(frozen=True)
class _Box:
    """A place on a slide, in inches."""

    left: float
    top: float
    wide: float
    high: float

    @property
    def placed(self) -> tuple[Any, ...]:
        from pptx.util import Inches

        return tuple(map(Inches, (self.left, self.top, self.wide, self.high)))


def powerpoint(deck: Sequence[Told]) -> bytes:
    """The slides as a file, one for each pin."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    slides.slide_width, slides.slide_height = Inches(_WIDE), Inches(_HIGH)
    for told in deck:
        slide = slides.slides.add_slide(slides.slide_layouts[5])  # a title alone
        _add_title(slide.shapes.title, told.caption)
        _add_found(slide, told)
        _add_text(slide, told.promises, _Box(_EDGE, _PROMISES, _WIDE - 2 * _EDGE, 0.9), 11)
        slide.notes_slide.notes_text_frame.text = "\n\n".join(
            filter(None, (told.settings, *told.promises, told.link, told.script))
        )
    file = BytesIO()
    slides.save(file)
    return file.getvalue()


def _add_title(title: Any, caption: str) -> None:
    title.left, title.top, title.width, title.height = _Box(
        _EDGE, 0.2, _WIDE - 2 * _EDGE, 0.75
    ).placed
    title.text = caption
    paragraph = title.text_frame.paragraphs[0]
    size = next(size for most, size in ((50, 28), (90, 22), (200, 16)) if len(caption) <= most)
    paragraph.font.size, paragraph.alignment = _points(size), 1


def _add_found(slide: Any, told: Told) -> None:
    """The number with its sentence, and under it or beside it what was drawn."""
    whole = _WIDE - 2 * _EDGE
    if told.views:
        left = _EDGE
        if told.number:
            _add_text(slide, [told.number], _Box(_EDGE, 0.95, 2.2, 1), 48, bold=True)
            left += 2.3
        _add_text(slide, told.said, _Box(left, 1.1, _EDGE + whole - left, 0.9), 16)
        wide = whole / len(told.views)
        for number, view in enumerate(told.views):
            _add_view(slide, view, _EDGE + number * wide, wide - 0.1)
        return
    has_chart = bool(told.curves or told.guesses)
    words = 4.3 if has_chart else whole
    if told.number:
        _add_text(slide, [told.number], _Box(_EDGE, 1.15, words, 1), 48, bold=True)
    _add_text(slide, told.said, _Box(_EDGE, 2.2, words, 4), 15)
    place = _Box(_EDGE + words + 0.3, 1.2, whole - words - 0.3, _PROMISES - 1.3)
    if told.guesses is not None:
        right, blind = told.guesses
        _add_bars(slide, place, (_LUCK, _RELEASE),
                  {"guesses about one person that are right": (blind / 100, right / 100)},
                  ("#0072B2",), "0%")  # fmt: skip
    for number, curves in enumerate(told.curves):
        wide = place.wide / len(told.curves)
        _add_curves(slide, curves, _Box(place.left + number * wide, place.top, wide, place.high))


def _add_view(slide: Any, view: View, left: float, wide: float) -> None:
    frames, now = view.frames()[0], here(view)
    rows = tuple(row for frame in frames for row in frame.rows)
    curves = Curves(rows, "epsilon", AXES["epsilon"].axis)
    lead = f"{PROTOCOLS[view.spec.protocols[0]].title}, ε = {plain(view.spec.epsilon)}"
    exact = frames_cache.exact_pictures(view.spec, view.dataset)
    if now.pictures.sprite:
        _add_curves(slide, curves, _Box(left, _TOP, wide, 2.5))
        for name, sprite, top in ((_EXACT, exact.sprite, 4.6), (lead, now.pictures.sprite, 5.45)):
            _add_text(slide, [name], _Box(left, top, 1.6, 0.4), 10)
            _add_strip(slide, sprite, left + 1.6, top, wide - 1.7, name)
        return
    _add_curves(slide, curves, _Box(left, _TOP, 0.6 * wide, _PROMISES - _TOP - 0.1))
    (names, *_), (ours, *_), (theirs, *_) = (
        frames_cache.features_of(view.spec), now.pictures.loadings, exact.loadings,
    )  # fmt: skip
    colours = (INK_LIGHT, look_of(view.spec.protocols[0]).colour)
    _add_text(slide, ["The first component, by feature"],
              _Box(left + 0.6 * wide, _TOP, 0.4 * wide, 0.3), 12)  # fmt: skip
    _add_bars(slide, _Box(left + 0.6 * wide, _TOP + 0.3, 0.4 * wide, _PROMISES - _TOP - 0.4),
              names, {_EXACT: theirs, lead: ours}, colours, "0.0")  # fmt: skip


def _add_curves(slide: Any, curves: Curves, box: _Box) -> None:
    """Means of the draws as a chart of PowerPoint's own."""
    from pptx.chart.data import XyChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.enum.dml import MSO_LINE

    data = XyChartData(number_format="0%")
    values = sorted({float(row[curves.field]) for row in curves.rows})
    ends = values[0], values[-1]
    keys = list(dict.fromkeys(row["protocol"] for row in curves.rows))
    levels = {
        _EXACT: (INK_LIGHT, MSO_LINE.DASH, (1.0, 1.0)),
        _CHANCE: (GREY, MSO_LINE.ROUND_DOT, _floor(curves.rows, curves.field, ends)),
    }
    if curves.target is not None:
        levels[f"Target, {curves.target:.0%}"] = (INK_LIGHT, MSO_LINE.SOLID, (curves.target,) * 2)
    lines = {look_of(key).label: _means(curves, key) for key in keys}
    lines |= {name: list(zip(ends, shares, strict=True)) for name, (*_, shares) in levels.items()}
    for name, points in lines.items():
        series = data.add_series(name)
        for value, share in points:
            series.add_data_point(value, share)
    kind = XL_CHART_TYPE.XY_SCATTER_LINES
    chart = slide.shapes.add_chart(kind, *box.placed, data).chart
    _legend(chart, below=box.wide < 6)
    chart.has_title = bool(curves.title)
    if curves.title:
        chart.chart_title.text_frame.text = curves.title
    _axes(chart, curves, ends)
    looks = [*((look_of(key).colour, None) for key in keys),
             *((colour, dash) for colour, dash, _ in levels.values())]  # fmt: skip
    for series, (colour, dash) in zip(chart.plots[0].series, looks, strict=True):
        _paint(series, colour, dash)


def _means(curves: Curves, key: str) -> list[tuple[float, float]]:
    draws: dict[float, list[float]] = {}
    for row in curves.rows:
        if row["protocol"] == key:
            draws.setdefault(float(row[curves.field]), []).append(row["energy_ratio"])
    return [(value, fmean(draws[value])) for value in sorted(draws)]


def _floor(rows: Sequence[Row], field: str, ends: tuple[float, float]) -> tuple[float, ...]:
    return tuple(next(row["random_ratio"] for row in rows if row[field] == end) for end in ends)


def _axes(chart: Any, curves: Curves, ends: tuple[float, float]) -> None:
    from pptx.oxml.xmlchemy import OxmlElement

    across, up = chart.category_axis, chart.value_axis
    if curves.logarithmic:
        scaling = across._element.find("{*}scaling")  # noqa: SLF001  it has no name for it
        logarithm = OxmlElement("c:logBase")
        logarithm.set("val", "10")
        scaling.insert(0, logarithm)
        # Ticks are at the axis' beginning and at ten times that.
        ends = 10 ** math.floor(math.log10(ends[0])), ends[1]
    across.minimum_scale, across.maximum_scale = ends
    across.has_major_gridlines = False
    across.has_title = up.has_title = True
    for axis, said in ((across, curves.axis), (up, "kept, of what exact PCA captures")):
        axis.axis_title.text_frame.text = said
        axis.axis_title.text_frame.paragraphs[0].font.size = _points(_USUAL_AXIS)
    across.tick_labels.number_format, across.tick_labels.number_format_is_linked = "General", False
    up.minimum_scale, up.maximum_scale = 0.0, 1.05
    up.major_unit = 0.25
    up.tick_labels.number_format, up.tick_labels.number_format_is_linked = "0%", False


def _legend(chart: Any, *, below: bool) -> None:
    from pptx.enum.chart import XL_LEGEND_POSITION as POSITION

    chart.font.size = _points(_USUAL_AXIS)
    chart.has_legend, chart.legend.include_in_layout = True, False
    chart.legend.position = POSITION.BOTTOM if below else POSITION.RIGHT


def _paint(series: Any, colour: str, dash: Any) -> None:
    from pptx.enum.chart import XL_MARKER_STYLE

    series.smooth = False
    series.format.line.color.rgb, series.format.line.width = _rgb(colour), _points(2.25)
    if dash is not None:
        series.format.line.dash_style = dash
        series.marker.style = XL_MARKER_STYLE.NONE
        return
    series.marker.size = 7
    series.marker.format.fill.solid()
    series.marker.format.fill.fore_color.rgb = _rgb(colour)


def _add_bars(
    slide: Any,
    box: _Box,
    names: Sequence[str],
    series: dict[str, Sequence[float]],
    colours: Sequence[str],
    number_format: str,
) -> None:
    """Bars under each other, the first on top, as a chart of PowerPoint's own."""
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_TICK_LABEL_POSITION

    data = CategoryChartData(number_format=number_format)
    data.categories = list(names)
    for name, values in series.items():
        data.add_series(name, values)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *box.placed, data).chart
    _legend(chart, below=True)
    chart.has_title = False
    chart.category_axis.reverse_order = True
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    chart.value_axis.has_major_gridlines = False
    chart.value_axis.tick_labels.number_format = number_format
    chart.value_axis.tick_labels.number_format_is_linked = False
    (plot,) = chart.plots
    plot.gap_width, plot.overlap = 60, 0
    most = math.ceil(10 * max(abs(value) for values in series.values() for value in values)) / 10
    chart.value_axis.minimum_scale, chart.value_axis.maximum_scale = -most, most
    if number_format.endswith("%"):
        chart.value_axis.minimum_scale, chart.value_axis.maximum_scale = 0, 1
        plot.has_data_labels = True
        plot.data_labels.number_format, plot.data_labels.number_format_is_linked = "0%", False
    for one, colour in zip(plot.series, colours, strict=True):
        one.format.fill.solid()
        one.format.fill.fore_color.rgb = _rgb(colour)
        one.invert_if_negative = False


def _add_strip(slide: Any, sprite: str, left: float, top: float, wide: float, told: str) -> None:
    from pptx.util import Inches

    picture = Image.open(BytesIO(b64decode(sprite)))
    # PowerPoint smooths what it enlarges.
    larger = max(1, 1_600 // picture.width)
    size = (larger * picture.width, larger * picture.height)
    file = BytesIO()
    picture.resize(size, Image.Resampling.NEAREST).save(file, "PNG")
    high = min(0.8, wide * picture.height / picture.width)
    shape = slide.shapes.add_picture(file, Inches(left), Inches(top), height=Inches(high))
    shape._element.nvPicPr.cNvPr.set("descr", f"{told}: the leading components as pictures.")  # noqa: SLF001


def _add_text(
    slide: Any, lines: Sequence[str], box: _Box, size: float, *, bold: bool = False
) -> None:
    frame = slide.shapes.add_textbox(*box.placed).text_frame
    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text = line
        paragraph.font.size, paragraph.font.bold = _points(size), bold
        paragraph.space_after = _points(size / 3)


def _rgb(colour: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(colour.lstrip("#").upper())


def _points(size: float) -> Any:
    from pptx.util import Pt

    return Pt(size)
