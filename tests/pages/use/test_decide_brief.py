"""What a decision leaves as: a memo and five slides whose sentences are its own runs'."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from io import BytesIO

import pytest
from pptx import Presentation

from dpcore.data import dataset_status
from dpcore.experiments.decision import Option, asked_spec, decide
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import percent
from dpcore.experiments.targets import Trusted
from pages.use.decide.brief import Brief, brief_of, five_slides, memo, powerpoint_of, slides_page
from pages.use.decide.page import DecisionQuestion, conclusion


@pytest.fixture(scope="module")
def options() -> tuple[Option, ...]:
    return tuple(each for each in decide(SPEC, 0.85) if isinstance(each, Option))


SPEC = asked_spec(RunSpec(dataset="digits", components=5), Trusted.HOLDER, 1797)


def _brief(options: tuple[Option, ...]) -> Brief:
    question = DecisionQuestion(SPEC, Trusted.HOLDER, 0.85)
    return brief_of(question, options, dataset_status("digits"), "/decide")


def test_five_slides_have_sentences_with_numbers_a_figure_a_foot_and_notes(options):
    brief = _brief(options)
    slides = Presentation(BytesIO(powerpoint_of(brief))).slides
    assert len(slides) == 5
    for slide, made in zip(slides, five_slides(brief), strict=True):
        title = slide.shapes.title.text
        assert title == made.title and title.endswith(".") and len(title) < 200
        assert re.search(r"\d", title) or "every row is seen" in title
        drawn = [s for s in slide.shapes if s.has_chart or s.shape_type in (1, 13)]
        assert drawn, title
        words = [s.text_frame.text for s in slide.shapes if s.has_text_frame]
        assert any("δ = 10⁻⁵" in w and "seed 0" in w and re.search(r"20\d\d-\d\d-\d\d", w)
                   for w in words)  # fmt: skip
        notes = slide.notes_slide.notes_text_frame.text
        assert notes.startswith("What may be asked:") and len(made.notes) >= 2
    first = slides[0]
    assert first.shapes.title.text == conclusion(options)
    (chart,) = (shape.chart for shape in first.shapes if shape.has_chart)
    assert list(chart.plots[0].series[0].values) == pytest.approx([o.mean for o in options])


def test_the_memo_and_the_html_slides_say_the_same_and_load_nothing(options):
    brief = _brief(options)
    for page in (memo(brief), slides_page(brief)):
        said = unescape(page)
        assert conclusion(options) in said and brief.foot in said
        assert not re.search(r"(src|href)=\"(?!data:)", page)
        assert not re.search(r"\{\w+\}", said.split("</style>")[1])
    assert "<script" not in slides_page(brief)
    # The memo's one script prints it, and its policy lets no other run.
    (script,) = re.findall(r"<script>(.*?)</script>", memo(brief))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert "window.print()" in script and f"script-src 'sha256-{digest}'\"" in memo(brief)
    assert memo(brief).count("<script") == memo(brief).count("<button") == 1
    said = unescape(memo(brief))
    for each in options:
        assert f"{each.hits} of 10</td>" in said and percent(each.mean) in said
    assert all(str(each) in said for each in brief.label.assumptions)
    assert "no one is protected by this page" in said


def test_where_nothing_reached_the_target_every_title_says_so_of_the_closest(options):
    missed = (options[0],)
    assert not missed[0].has_reached
    brief = _brief(missed)
    assert brief.question[0].isupper() and ": which ε keeps " in brief.question
    assert not brief.is_recommended and five_slides(brief)[0].title.startswith("Nothing is recomm")
    assert 'class="best"' not in memo(brief)
