"""The terms of the trade, a sentence or two each: what a hover, a tap and the documents say."""

from __future__ import annotations

import re
from functools import lru_cache

GLOSSARY = {
    "ε": "How much a release may give away about one person: the smaller, the more private. Odds "
    "about anybody move by at most a factor of e to the ε; where there is a δ, not always.",
    "δ": "A slack on every probability the promise speaks of; far below one over the number of "
    "people.",
    "exact PCA": "Principal component analysis without noise: the few directions along which rows "
    "differ most. It is the best there is, and not private.",
    "captured energy": "The share of the rows' variation that lies along the directions found. "
    "Here it is divided by what exact PCA captures, so that exact PCA has 100 %.",
    "pure chance": "What directions drawn at random, without a look at the data, would capture: "
    "the floor under every result.",
    "random subspace": "Directions drawn without a look at the data: pure chance, the floor under "
    "every result.",
    "component": "A direction in the data, one number a feature; for pictures it is a picture "
    "itself. K of them are kept.",
    "site": "Somebody who holds the rows of some people, a hospital say, and may not hand them "
    "out.",
    "aggregator": "Whoever puts together what the sites send. It holds no rows and need not be "
    "trusted, but where sites hand it theirs (pooled).",
    "protocol": "Who adds noise to what, and what is sent to whom.",
    "draw": "One throw of the noise. Another draw under the same settings gives another result, "
    "and the spread over draws says how much is luck.",
    "DPdisPCA": "Each site adds noise to its own matrix and sends its R strongest directions; "
    "nobody need be trusted (Imtiaz & Sarwate 2018).",
    "Analyze Gauss": "One trusted holder of all rows adds Gaussian noise to their matrix, once "
    "(Dwork et al. 2014).",
    "PPCA": "One trusted holder draws directions at random, good ones far more often than bad "
    "ones (Chaudhuri et al. 2012).",
    "SuLQ": "One trusted holder adds noise to every entry of the matrix. MOD-SuLQ is its repaired "
    "form (Chaudhuri et al. 2012).",
    "CAPE": "Sites add noise that cancels where all of it is added up, so that the sum has "
    "little more than one trusted holder would add.",
    "secure sum": "Sites send numbers hidden by masks that cancel, so that only what all of them "
    "add up to can be read.",
    "calibration": "How the noise's size is worked out from ε and δ. Analytic keeps exactly what "
    "is asked; published formulas may promise more than they keep.",
    "sensitivity": "How far one person's row can move a result. Noise is measured against it.",
    "preparation": "Centring and scaling the rows before anything else. As published it reads "
    "everybody's rows and is not private.",
    "canonical": "Canonical correlation analysis (CCA) finds what two views of the same people "
    "share; a canonical pair is one direction in each view.",
    "R-hat": "Compares Markov chains with one another; near 1 they tell the same story, and above "
    "they have not run long enough.",
    "data dictionary": "What is public about a table, written without looking at it: limits or "
    "levels of each column, and how many rows a person may have.",
    "laboratory": "Where one looks at rows and results with a seed that is shown. Nothing of it is "
    "to be published.",
    "certificate": "What a release promises, in numbers from which anybody can work out its ε "
    "again.",
    "Laplace": "Noise that promises pure ε, without any δ.",
}
# Words that say the same in other forms, each with its term.
_ALSO = {
    "energy": "captured energy",
    "components": "component",
    "sites": "site",
    "draws": "draw",
    "protocols": "protocol",
}
_TERM = re.compile(
    r"(?<!\w)("
    + "|".join(sorted(map(re.escape, (*GLOSSARY, *_ALSO)), key=len, reverse=True))
    + r")(?!\w)",
    re.IGNORECASE,
)
_NAMED = {name.casefold(): name for name in GLOSSARY} | _ALSO


@lru_cache(maxsize=1024)
def told(text: str) -> str | None:
    """What the terms in a text mean, as Markdown for its `help`; None where there are none."""
    names = dict.fromkeys(_NAMED[word.casefold()] for word in _TERM.findall(text))
    return "\n\n".join(f"**{name}**: {GLOSSARY[name]}" for name in names) or None


def document() -> str:
    """The glossary as a page of the documents."""
    terms = "\n\n".join(f"**{name}**\n: {text}" for name, text in GLOSSARY.items())
    return f"# Glossary\n\nThe words that the pages explain where they use them.\n\n{terms}\n"
