"""A deck as PowerPoint slides: charts whose numbers can be edited, pictures, the promise, notes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO
from statistics import fmean
from typing import Any

from PIL import Image

from dpcore.figures.style import look_of
from dpcore.pca.protocols.register import PROTOCOLS
from pages.presenting.views import View
from pages.server import frames_cache
from pages.use.deck.told import Told, here

_WIDE, _HIGH, _EDGE = 13.333, 7.5, 0.5  # inches: 16:9
_EXACT, _CHANCE = "Exact PCA", "Pure chance"


def powerpoint(deck: Sequence[Told]) -> bytes:
    """The slides as a file, one for each pin."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    slides.slide_width, slides.slide_height = Inches(_WIDE), Inches(_HIGH)
    for told in deck:
        slide = slides.slides.add_slide(slides.slide_layouts[5])  # a title alone
        title = slide.shapes.title
        title.text = told.caption
        _place(title, _EDGE, 0.2, _WIDE - 2 * _EDGE, 0.9)
        title.text_frame.paragraphs[0].font.size = _points(28)
        for number, view in enumerate(told.views):
            wide = (_WIDE - 2 * _EDGE) / len(told.views)
            _add_view(slide, view, _EDGE + number * wide, wide - 0.1)
        lower = 6.0 if told.views else 2.0
        _add_text(slide, [*told.said, *told.promises], lower, 14)
        slide.notes_slide.notes_text_frame.text = "\n\n".join(
            filter(None, (told.settings, *told.promises, told.link, told.script))
        )
    file = BytesIO()
    slides.save(file)
    return file.getvalue()


def _add_view(slide: Any, view: View, left: float, wide: float) -> None:
    from pptx.chart.data import XyChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
    from pptx.util import Inches

    frames = view.frames()[0]
    data = XyChartData(number_format="0%")
    for name, points in _series(view):
        series = data.add_series(name)
        for epsilon, share in points:
            series.add_data_point(epsilon, share)
    high = 3.0 if here(view).pictures.sprite else 4.7
    box = (Inches(left), Inches(1.15), Inches(wide), Inches(high))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES, *box, data).chart
    chart.has_legend, chart.legend.include_in_layout = True, False
    chart.legend.position = XL_LEGEND_POSITION.RIGHT
    chart.has_title = False
    chart.font.size = _points(12)
    _axes(chart, min(frame.spec.epsilon for frame in frames))
    _colours(chart, view)
    if here(view).pictures.sprite:
        exact = frames_cache.exact_pictures(view.spec, view.dataset)
        lead = PROTOCOLS[view.spec.protocols[0]].title
        for name, pictures, top in (
            (_EXACT, exact, 4.2),
            (f"{lead}, ε = {view.spec.epsilon:g}", here(view).pictures, 5.1),
        ):
            _add_text(slide, [name], top, 10, left=left, wide=1.6)
            _add_strip(slide, pictures.sprite, left + 1.6, top, wide - 1.7, name)


def _series(view: View) -> list[tuple[str, list[tuple[float, float]]]]:
    """What the chart is of: means of all draws at each ε, and what they lie between."""
    frames = sorted(view.frames()[0], key=lambda frame: frame.spec.epsilon)
    found = [
        (
            look_of(key).label,
            [(f.spec.epsilon, fmean(r["energy_ratio"] for r in f.rows if r["protocol"] == key))
             for f in frames],
        )
        for key in view.spec.protocols
    ]  # fmt: skip
    ends = [frames[0], frames[-1]]
    chance = [(frame.spec.epsilon, frame.rows[0]["random_ratio"]) for frame in ends]
    return [*found, (_EXACT, [(f.spec.epsilon, 1.0) for f in ends]), (_CHANCE, chance)]


def _axes(chart: Any, least: float) -> None:
    from pptx.oxml.xmlchemy import OxmlElement

    across, up = chart.category_axis, chart.value_axis
    scaling = across._element.find("{*}scaling")  # noqa: SLF001  it has no name for a logarithm
    logarithm = OxmlElement("c:logBase")
    logarithm.set("val", "10")
    scaling.insert(0, logarithm)
    across.minimum_scale, across.maximum_scale = min(0.001, least), 100.0
    across.has_major_gridlines = False
    across.has_title = up.has_title = True
    across.axis_title.text_frame.text = "← more private     asked ε     less private →"
    across.tick_labels.number_format, across.tick_labels.number_format_is_linked = "General", False
    up.axis_title.text_frame.text = "kept, of what exact PCA captures"
    up.minimum_scale, up.maximum_scale = 0.0, 1.05
    up.major_unit = 0.25
    up.tick_labels.number_format, up.tick_labels.number_format_is_linked = "0%", False


def _colours(chart: Any, view: View) -> None:
    from pptx.dml.color import RGBColor
    from pptx.enum.chart import XL_MARKER_STYLE
    from pptx.enum.dml import MSO_LINE

    colours = [look_of(key).colour for key in view.spec.protocols]
    drawn = [*((colour, None) for colour in colours), ("#1a1a1a", MSO_LINE.DASH),
             ("#8a8a8a", MSO_LINE.ROUND_DOT)]  # fmt: skip
    for series, (colour, dash) in zip(chart.plots[0].series, drawn, strict=True):
        rgb = RGBColor.from_string(colour.lstrip("#").upper())
        series.smooth = False
        series.format.line.color.rgb, series.format.line.width = rgb, _points(2.25)
        if dash is not None:
            series.format.line.dash_style = dash
            series.marker.style = XL_MARKER_STYLE.NONE
            continue
        series.marker.size = 7
        series.marker.format.fill.solid()
        series.marker.format.fill.fore_color.rgb = rgb


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
    slide: Any, lines: Sequence[str], top: float, size: float, *,
    left: float = _EDGE, wide: float = _WIDE - 2 * _EDGE,
) -> None:  # fmt: skip
    from pptx.util import Inches

    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(wide), Inches(0.4))
    box.text_frame.word_wrap = True
    for number, line in enumerate(lines):
        frame = box.text_frame
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text = line
        paragraph.font.size = _points(size)


def _place(shape: Any, left: float, top: float, wide: float, high: float) -> None:
    from pptx.util import Inches

    shape.left, shape.top = Inches(left), Inches(top)
    shape.width, shape.height = Inches(wide), Inches(high)


def _points(size: float) -> Any:
    from pptx.util import Pt

    return Pt(size)
