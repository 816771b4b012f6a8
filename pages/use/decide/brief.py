"""What a decision is told by away from the page: a memo of one page, and five slides.

All of it follows from the options' own runs and guarantees: titles are sentences with their
numbers, each slide has one figure, and its foot says the source, the settings and the date.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from dpcore.data import DatasetStatus
from dpcore.experiments.decision import ENOUGH_RUNS, SEARCH_RUNS, Option, recommended
from dpcore.experiments.summaries import bytes_in_words, percent
from dpcore.figures.privacy import FALSE_ALARM, MISS, accused_svg
from dpcore.figures.style import GREY, look_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.privacy.label import Label, Sight, label_of, sights_svg
from pages.shell.parameters import plain
from pages.use.decide.page import (
    DecisionQuestion,
    accused_of,
    capitalised,
    conclusion,
    people_in_words,
    strips,
    strongest_loadings,
    trust_in_words,
    utility,
    verdict,
)
from pages.use.deck.page import Box, add_bars, add_text, add_title, in_inches

_HERE = Path(__file__).parent
_MEMO = (_HERE / "memo.html").read_text(encoding="utf-8")
_ACCENT, _INK = "#0072B2", "#1a1a1a"
# As `accused_svg` has them.
_WITH, _WITHOUT = FALSE_ALARM, MISS


@dataclass(frozen=True)
class Line:
    """One option in words and numbers.

    pictures: PNG files of ten people rebuilt, where the data are pictures.
    accused: Of a hundred attackers, how many accuse her with her data, at most, and without.
    """

    name: str
    epsilon: float
    mean: float
    energies: tuple[float, ...]
    hits: int
    verdict: str
    utility: str
    accused: tuple[int, int]
    sent: str
    breach: str
    pictures: tuple[bytes, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name.capitalize()}, ε = {plain(self.epsilon)}"


@dataclass(frozen=True)
class Brief:
    """Everything that the memo and the slides say.

    chosen: The option that is recommended, or else the closest.
    loadings: Of a table: names of columns, and the first component without privacy and released.
    """

    question: str
    answer: str
    lines: tuple[Line, ...]
    chosen: Line
    is_recommended: bool
    target: float
    trust: str
    least_share: float
    label: Label
    foot: str
    loadings: tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]] | None = None


def brief_of(
    question: DecisionQuestion, options: Sequence[Option], dataset: DatasetStatus, link: str
) -> Brief:
    """The brief of a decision whose options have all been run; asks the session's caches."""
    best = recommended(tuple(options))
    shown = best or max(options, key=lambda each: each.hits)
    lines = tuple(_line(question, each, dataset) for each in options)
    spec = shown.spec
    people = people_in_words(spec, dataset)
    guarantee = spec.promise(spec.protocols[0], dataset)
    trust, _ = trust_in_words(question, guarantee)
    entry = PROTOCOLS[spec.protocols[0]]
    now = datetime.now(UTC)
    label = label_of(
        guarantee,
        f"{entry.title} on {dataset.title}",
        is_simulation=True,
        people=dataset.n_samples if spec.samples is None else spec.samples,
        sites=spec.sites,
        made=now.isoformat(timespec="seconds"),
    )
    wanted = f"Which ε keeps {percent(question.target)} of the pattern of {people}?"
    foot = (
        f"Source: DP-PCA Lab, {dataset.title}, {entry.title}, {people}, δ = "
        f"{say_delta(spec.delta)}, K = {spec.components or 'default'}, seed {spec.seed}, runs "
        f"{shown.runs[0] + 1} to {shown.runs[-1] + 1}. Simulation. {now:%Y-%m-%d}. {link}"
    )
    return Brief(
        f"{capitalised(dataset.title)}: which{wanted.removeprefix('Which')}",
        conclusion(tuple(options)),
        lines,
        lines[list(options).index(shown)],
        best is not None,
        question.target,
        trust,
        shown.least_share,
        label,
        foot,
        None if lines[0].pictures else strongest_loadings(spec, shown.runs[0]),
    )


def _line(question: DecisionQuestion, option: Option, dataset: DatasetStatus) -> Line:
    guarantee = option.spec.promise(option.spec.protocols[0], dataset)
    return Line(
        option.name,
        option.spec.epsilon,
        option.mean,
        tuple(option.energies),
        option.hits,
        verdict(option),
        utility(option),
        accused_of(guarantee),
        bytes_in_words(option.bytes_per_site),
        trust_in_words(question, guarantee)[1],
        strips(option.spec, dataset, option.runs[0], dark=False)
        if dataset.image_shape is not None
        else (),
    )


# Five slides: a sentence with its numbers, one figure, a foot, and what may be asked.


@dataclass(frozen=True)
class Slide:
    """One slide; `figure` draws it as HTML, `add` puts it on a slide of PowerPoint."""

    title: str
    figure: str
    add: Callable[[Any], None]
    notes: tuple[str, ...]


def five_slides(brief: Brief) -> tuple[Slide, ...]:
    """The slides of a brief, from the answer to how sure it is."""
    best, few = brief.chosen, brief.chosen.accused
    at = f"ε = {plain(best.epsilon)}"
    target = percent(brief.target)
    means = [each.mean for each in brief.lines]
    names = [each.title for each in brief.lines]
    kept = f"At {at}, {best.utility}"
    return (
        Slide(
            brief.answer,
            bars_svg(names, means, brief.target),
            lambda slide: _bars(slide, names, means, brief.target, "kept on average"),
            (
                "Why not more privacy? " + brief.lines[0].verdict,
                "Why not more detail? Each step up raises what one person's data can give away: "
                + ", ".join(f"{e.accused[0]} of 100 at ε = {plain(e.epsilon)}" for e in brief.lines)
                + ".",
                f"What is kept? A share of what PCA without privacy captures; {target} was asked.",
            ),
        ),
        Slide(
            f"{kept}.",
            _pictures_html(brief),
            lambda slide: _add_pictures(slide, brief),
            (
                ("Are these real? They are rows of this simulation's data, seen through "
                "the private result of one run; who has that result alone has no row to look at."),
                "What does the classifier see? The released directions alone; it is not private.",
            ),
        ),
        Slide(
            f"At {at}, one person's data raises accusations from {few[1]} to at most {few[0]} "
            "of 100.",
            _dots_html(brief),
            lambda slide: _add_dots(slide, brief),
            (
                ("Who is the attacker? Anyone with the result who knows all other rows and wrongly "
                "accuses 5 of 100 innocent people."),
                f"And δ? {brief.label.as_dict()['delta_in_words']}",
            ),
        ),
        Slide(
            f"{brief.trust} {best.breach}",
            sights_svg(brief.label.sights),
            lambda slide: _add_sights(slide, brief.label.sights),
            (*brief.label.trust, *(f"It holds if: {each}" for each in brief.label.assumptions)),
        ),
        Slide(
            f"{best.hits} of {len(best.energies)} fresh runs reach {target}; at 95 % confidence at "
            f"least {percent(brief.least_share)} of all releases do.",
            bars_svg(
                [f"Run {n}" for n in range(1, len(best.energies) + 1)], best.energies, brief.target
            ),
            lambda slide: _bars(
                slide, [f"Run {n}" for n in range(1, len(best.energies) + 1)], best.energies,
                brief.target, at,
            ),
            (
                (f"Were these runs chosen? No: the search used {SEARCH_RUNS} other runs, and only "
                f"{ENOUGH_RUNS} of {len(best.energies)} or more make a recommendation."),
                ("Does it hold for our data? For data like these; a plan on public data of that "
                "kind costs nobody any privacy."),
            ),
        ),
    )  # fmt: skip


def powerpoint_of(brief: Brief) -> bytes:
    """Five slides as a file."""
    from pptx import Presentation

    file, deck = BytesIO(), Presentation()
    deck.slide_width, deck.slide_height = in_inches(13.333, 7.5)
    for each in five_slides(brief):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        add_title(slide.shapes.title, each.title)
        each.add(slide)
        add_text(slide, [brief.foot], Box(0.5, 6.85, 12.3, 0.5), 10)
        slide.notes_slide.notes_text_frame.text = "\n\n".join(
            ("What may be asked:", *each.notes, brief.foot)
        )
    deck.save(file)
    return file.getvalue()


_FIGURE = Box(0.5, 1.3, 12.3, 5.4)


def _bars(
    slide: Any, names: Sequence[str], shares: Sequence[float], target: float, what: str
) -> None:
    # Of two options that look alike the target's line says which reaches it.
    series = {what: shares, f"target, {percent(target)}": [target] * len(shares)}
    add_bars(slide, _FIGURE, names, series, (_ACCENT, GREY), "0%")


def _add_pictures(slide: Any, brief: Brief) -> None:
    if brief.loadings is not None:
        names, exact, found = brief.loadings
        series: dict[str, Sequence[float]] = {"without privacy": exact, brief.chosen.title: found}
        add_bars(slide, _FIGURE, names, series, (_INK, look_of("dpdis").colour), "0.0")
        return
    for number, line in enumerate(brief.lines):
        top = 1.5 + 1.75 * number
        words = [line.title, f"{capitalised(line.utility)}."]
        add_text(slide, words, Box(0.5, top, 2.9, 1.5), 14)
        for column, png in enumerate(line.pictures):
            _add_png(slide, _larger(png), 3.5 + 4.65 * column, top, 4.6, line.title)


def _add_png(slide: Any, png: bytes, left: float, top: float, wide: float, told: str) -> None:
    at_left, at_top, width = in_inches(left, top, wide)
    shape = slide.shapes.add_picture(BytesIO(png), at_left, at_top, width=width)
    shape._element.nvPicPr.cNvPr.set("descr", told)  # noqa: SLF001  it has no name for it


def _larger(png: bytes) -> bytes:
    """PowerPoint smooths what it enlarges."""
    picture, file = Image.open(BytesIO(png)), BytesIO()
    factor = max(1, 1200 // picture.width)
    size = (factor * picture.width, factor * picture.height)
    picture.convert("RGB").resize(size, Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()


def _add_dots(slide: Any, brief: Brief) -> None:
    for number, (count, words) in enumerate(_counts(brief)):
        left = 0.5 + 6.3 * number
        colour = _WITH if number else _WITHOUT
        _add_png(slide, dots_png(count, colour), left, 1.9, 5.9, f"{count} of 100 dots")
        add_text(slide, [f"{count} of 100 {words}"], Box(left, 3.7, 5.9, 0.6), 22, bold=True)


def _counts(brief: Brief) -> tuple[tuple[int, str], ...]:
    with_her, without = brief.chosen.accused
    return (without, "accuse her without her data"), (with_her, "accuse her with her data, at most")


def dots_png(count: int, colour: str) -> bytes:
    """A hundred dots, so many of them filled."""
    side, file = 80, BytesIO()
    picture = Image.new("RGB", (20 * side, 5 * side), "#ffffff")
    draw = ImageDraw.Draw(picture)
    for n in range(100):
        x, y = side * (n % 20), side * (n // 20)
        fill = colour if n < count else "#ffffff"
        draw.ellipse((x + 10, y + 10, x + side - 10, y + side - 10), fill, _INK, 3)
    picture.resize((10 * side, 5 * side // 2), Image.Resampling.LANCZOS).save(file, "PNG")
    return file.getvalue()


def _add_sights(slide: Any, sights: Sequence[Sight]) -> None:
    """A box for each party, from the people to the reader, with what it sees."""
    boxes = [("People", "their own row"), *((e.who, _seen_by(e)) for e in sights)]
    wide = 12.3 / len(boxes)
    for number, (name, said) in enumerate(boxes):
        box = Box(0.5 + wide * number, 2.0, wide - 0.35, 3.2)
        shape = slide.shapes.add_shape(1, *box.placed)
        shape.fill.background()
        add_text(slide, [name], Box(box.left + 0.1, 2.1, box.wide - 0.2, 0.6), 16, bold=True)
        add_text(slide, [said], Box(box.left + 0.1, 2.8, box.wide - 0.2, 2.3), 13)
        if number:
            add_text(slide, ["→"], Box(box.left - 0.42, 3.2, 0.5, 0.5), 20)


def _seen_by(each: Sight) -> str:
    if each.is_trusted:
        return f"Sees {each.sees}; trusted."
    holds = "nothing holds" if each.epsilon is None else f"ε = {plain(round(each.epsilon, 3))}"
    return f"Sees {each.sees}: {holds}."


# The same as HTML: slides under each other, and a memo that prints on one page.

_SLIDES_STYLE = """
:root { color-scheme: light; }
body { margin: 0; font: 18px/1.4 Helvetica, Arial, sans-serif; color: #1a1a1a;
  background: #ffffff; }
section { box-sizing: border-box; min-height: 100vh; padding: 3vh 4vw; display: flex;
  flex-direction: column; gap: 2vh; break-after: page; border-bottom: 1px solid #767676; }
h1, h2 { font-size: clamp(22px, 3.2vw, 44px); line-height: 1.2; margin: 0; }
.figure { flex: 1; display: flex; gap: 3vw; align-items: center; justify-content: center;
  flex-wrap: wrap; }
.figure > svg { width: 100%; max-height: 60vh; }
figure { margin: 0; flex: 1; min-width: 14rem; }
figure img, figure svg { width: 100%; display: block; image-rendering: pixelated; }
.foot { font-size: 12px; color: #555555; margin: 0; overflow-wrap: anywhere; }
details { font-size: 14px; }
@media print { details { display: none; } section { min-height: 95vh; border: 0; } }
"""
_BEST = ' class="best"'
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def slides_page(brief: Brief) -> str:
    """Five slides as one HTML file that loads nothing; each prints on a page."""
    sections = "".join(
        f'<section><{tag}>{escape(each.title)}</{tag}><div class="figure">{each.figure}</div>'
        f"<details><summary>What may be asked</summary><ul>"
        f"{''.join(f'<li>{escape(note)}</li>' for note in each.notes)}</ul></details>"
        f'<p class="foot">{escape(brief.foot)}</p></section>'
        for tag, each in zip(("h1", *["h2"] * 4), five_slides(brief), strict=True)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(brief.question)}</title><style>{_SLIDES_STYLE}</style></head>
<body><main>{sections}</main></body></html>
"""


def memo(brief: Brief) -> str:
    """The decision on one page of A4 or Letter."""
    best = brief.chosen if brief.is_recommended else None
    rows = "".join(
        f"<tr{_BEST if each is best else ''}>"
        f"<th>{escape(each.title)}</th><td>{percent(each.mean)}</td>"
        f"<td>{each.hits} of {len(each.energies)}</td><td>{escape(capitalised(each.utility))}</td>"
        f"<td>{each.accused[1]} → {each.accused[0]}</td><td>{escape(each.sent)}</td></tr>"
        for each in brief.lines
    )
    told = {
        "question": escape(brief.question),
        "answer": escape(brief.answer),
        "certainty": escape(
            f"{brief.chosen.verdict} So do at least {percent(brief.least_share)} of all releases, "
            "at 95 % confidence. These runs had no part in choosing."
        ),
        "rows": rows,
        "bars": bars_svg([e.title for e in brief.lines], [e.mean for e in brief.lines],
                         brief.target),
        "dots": _dots_html(brief),
        "delta": escape(brief.label.as_dict()["delta_in_words"]),
        "trust": escape(f"{brief.trust} {brief.chosen.breach}"),
        "sights": sights_svg(brief.label.sights),
        "not_protected": _items(brief.label.not_protected),
        "assumptions": _items(brief.label.assumptions),
        "foot": escape(brief.foot),
    }  # fmt: skip
    page = _MEMO
    for name, text in told.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def _items(sentences: Sequence[str]) -> str:
    return "".join(f"<li>{escape(each)}</li>" for each in sentences)


def bars_svg(names: Sequence[str], shares: Sequence[float], target: float) -> str:
    """Shares as bars under each other, with the target as an upright line."""
    step, left, whole = 30, 190, 480
    high = step * len(names) + 26
    across = left + whole * target
    told = "; ".join(f"{n}: {percent(s)}" for n, s in zip(names, shares, strict=True))
    parts = [f'<svg viewBox="0 0 740 {high}" role="img" aria-label="{escape(told)}">']
    for number, (name, share) in enumerate(zip(names, shares, strict=True)):
        y = step * number + 4
        parts.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end" font-size="15" '
            f'fill="{_INK}">{escape(name)}</text><rect x="{left}" y="{y}" height="22" '
            f'width="{whole * max(share, 0):.1f}" fill="{_ACCENT}"/>'
            f'<text x="{left + whole + 10}" y="{y + 16}" font-size="15" fill="{_INK}">'
            f"{percent(share)}</text>"
        )
    parts.append(
        f'<path d="M{across:.1f} 0V{high - 20}" stroke="{_INK}" stroke-width="2" '
        f'stroke-dasharray="5 3"/><text x="{across:.1f}" y="{high - 5}" text-anchor="middle" '
        f'font-size="14" fill="{_INK}">target {percent(target)}</text></svg>'
    )
    return "".join(parts)


def _pictures_html(brief: Brief) -> str:
    if brief.loadings is None:
        return "".join(
            f"<figure>{''.join(map(_img, line.pictures))}<figcaption>{escape(line.title)}: "
            f"{escape(line.utility)}.</figcaption></figure>"
            for line in brief.lines
        )
    names, exact, found = brief.loadings
    most = max(map(abs, (*exact, *found)))
    parts = [
        (
            f'<svg viewBox="0 0 740 {30 * len(names) + 26}" role="img" '
            'aria-label="Loadings of the first component, released and without privacy">'
        )
    ]
    for number, (name, true, value) in enumerate(zip(names, exact, found, strict=True)):
        y, middle = 30 * number + 4, 480
        x, line = middle + 240 * min(value / most, 0), middle + 240 * true / most
        parts.append(
            f'<text x="232" y="{y + 16}" text-anchor="end" font-size="14">{escape(name)}</text>'
            f'<rect x="{x:.1f}" y="{y}" width="{240 * abs(value) / most:.1f}" height="20" '
            f'fill="{_ACCENT}"/><path d="M{line:.1f} {y - 2}v24" stroke="{_INK}" stroke-width="3"/>'
        )
    below = 30 * len(names) + 20
    words = f"bar: {brief.chosen.title}; line: without privacy"
    parts.append(
        f'<text x="480" y="{below}" text-anchor="middle" font-size="14">{words}</text></svg>'
    )
    return "".join(parts)


def _img(png: bytes) -> str:
    return f'<img src="data:image/png;base64,{b64encode(png).decode()}" alt="Ten rows rebuilt">'


def _dots_html(brief: Brief) -> str:
    return "".join(
        f"<figure>{accused_svg(count, f'{count} of 100', is_in='without' not in words)}"
        f"<figcaption><strong>{count} of 100</strong> {words}</figcaption></figure>"
        for count, words in _counts(brief)
    )
