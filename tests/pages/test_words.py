"""Words that the pages gave up stay off them: read in the sources, so that no state is missed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcore.data.dataset import PEOPLE, PICTURES
from dpcore.data.loading import CATALOG
from dpcore.privacy import EXPLANATIONS, Guarantee, PrivacyBudget, describe
from pages.widgets.glossary import GLOSSARY

ROOT = Path(__file__).parents[2]
# Where sentences of the pages are written, besides the pages.
TEXTS = (
    "dpcore/experiments/summaries.py",
    "dpcore/experiments/targets.py",
    "dpcore/figures",
    "dpcore/pca/protocols",
    "dpcore/privacy/budget.py",
    "dpcore/privacy/guarantee_in_words.py",
)
EXPLAINED = ROOT / "dpcore/privacy/explanations.md"
# Where the field's own words are for those who asked for formulas.
FORMULAS = ".md"
FIELD = {"draw", "captured energy"}
RETIRED = {
    "pure chance": "random guess",
    "give or take": "±, or percentage points",
    "whoever|somebody": "a subject that says who",
    r"a slack on": "how far the promise may fail",
    r"laborator(y|ies)": "simulation",
    r"of the energy that exact PCA|captured energy": "of the pattern survives",
    r"of the pattern .{0,30}is kept": "survives",
    "says of itself": "from the private result alone one would estimate",
    "this ledger forgets": "not saved",
    "take (it|the deck) away": "download, export",
    "holds where all of this is true": "assumptions",
    "Bring your own people": "bring your own data",
    "an error you can live with": "an acceptable error",
    r"(\d|\}|one|this|first|fresh|single|few|all|every|its|of) draws?\b(?! a| the| dir)": "run",
    r"draws? of the noise": "run",
    "beats with as few bytes": "the best result for each message size",
    "Esc ends it": "Esc to exit",
    "below each chart": "nothing: the links under a chart say it",
    "within luck": "indistinguishable",
    r"what holds exactly|noises it lacks|one knows again": "a sentence of its own",
    r"the Playground\b": "Play",
}  # fmt: skip


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Texts in a Python file but docstrings; what is filled in stands as {}."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            apart.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            apart |= {id(value) for value in node.values}
            parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
            yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def visible() -> Iterator[tuple[str, str]]:
    """Every text of the pages, with where it is."""
    sources = [*(ROOT / "pages").rglob("*.py")]
    for text in TEXTS:
        sources += (ROOT / text).rglob("*.py") if (ROOT / text).is_dir() else [ROOT / text]
    # Names of terms that a text may still use, with what they are called now.
    sources.remove(ROOT / "pages" / "widgets" / "glossary.py")
    yield from ((f"glossary: {name}", told) for name, told in GLOSSARY.items())
    for path in sorted(sources):
        # A word alone is a key.
        yield from (
            (f"{path.relative_to(ROOT)}:{line}", text)
            for line, text in strings(path)
            if " " in text
        )
    for path in sorted((ROOT / "pages").rglob("*.html")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in [
        *(ROOT / "pages" / "formulas").glob("*.md"),
        ROOT / "dpcore/privacy/explanations.md",
    ]:
        yield str(path.relative_to(ROOT)), " ".join(path.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("retired", RETIRED)
def test_a_retired_word_is_on_no_page(retired):
    word = re.compile(rf"\b({retired})", re.IGNORECASE)
    is_of_the_field = any(name in retired for name in FIELD)
    found = [
        f"{where}: {text[:200]!r}"
        for where, text in visible()
        if word.search(text) and not (is_of_the_field and where.endswith(FORMULAS))
    ]
    assert not found, f"say “{RETIRED[retired]}”:\n" + "\n".join(found)


def test_the_texts_are_found():
    texts = [text for _, text in visible()]
    assert len(texts) > 1_000
    assert any("of the pattern survives" in text for text in texts)


def test_the_glossary_has_at_most_twenty_words():
    assert len(GLOSSARY) <= 20


def test_the_card_speaks_of_conclusions_and_percentage_points():
    card = describe(Guarantee(PrivacyBudget(1.0, 0.01), 1.0, 0.01, "gaussian", "every site"))
    assert card.headline == (
        "Nothing anyone could conclude about you becomes more than 2.8 times as likely because "
        "your record was used (plus at most 1 percentage point)."
    )
    assert not any("odds" in text.lower() for text in EXPLANATIONS.values())


@pytest.mark.parametrize("name", ["covtype", "mnist-small", "census"])
def test_people_are_people_only_where_rows_are(name, open_page):
    unit = CATALOG[name].unit
    at = open_page("use/plan", dataset=name)
    said = [at.select_slider(key="people").label, *(each.value for each in at.sidebar.caption)]
    assert f"{unit.many.capitalize()} at each site" in said
    assert unit.of(CATALOG[name].n_samples) in said[1]
    assert (unit == PEOPLE) == any("eople" in each for each in said[:2])


def test_a_text_about_rows_is_about_what_they_are():
    assert PICTURES.name_in("Rows at each site, one row of 20 rows") == (
        "Pictures at each site, one picture of 20 pictures"
    )
    assert PEOPLE.of(1) == "1 person" and PEOPLE.of(2000) == "2,000 people"
