"""The terms of the trade, a sentence or two each: what a hover, a tap and the documents say."""

from __future__ import annotations

import re
from functools import lru_cache

GLOSSARY = {
    "ε": "How much a result may reveal about one person: the smaller, the more private. No "
    "conclusion about anyone becomes more than e^ε times as likely, apart from δ.",
    "δ": "How far the promise may fail. Keep it well below 1 in the number of people.",
    "exact PCA": "Principal component analysis without noise: the few directions along which rows "
    "differ most. The best there is, and not private.",
    "survives": "The share of the rows' variation along the private directions, divided by the "
    "share along exact PCA's, so that exact PCA has 100 %.",
    "random guess": "Directions chosen at random, without a look at the data: the floor under "
    "every result.",
    "component": "A direction in the data, one number a feature. Of pictures it is a picture.",
    "site": "An institution with rows of its own, a hospital say, that may not hand them out.",
    "aggregator": "The party that combines what sites send. It has no rows and need not be "
    "trusted, except where sites hand theirs over (pooled).",
    "protocol": "Who adds noise to what, and what is sent to whom.",
    "run": "One computation with fresh noise. Another run under the same settings gives another "
    "result; their spread shows how much is luck.",
    "DPdisPCA": "Each site adds noise to its own matrix and sends its R strongest directions; "
    "no one need be trusted (Imtiaz & Sarwate 2018).",
    "Analyze Gauss": "One trusted holder of all rows adds Gaussian noise to their matrix, once "
    "(Dwork et al. 2014).",
    "PPCA": "One trusted holder picks directions at random, good ones far more often than bad "
    "ones (Chaudhuri et al. 2012).",
    "CAPE": "Sites add noise that cancels in their sum, which then has little more noise than "
    "one trusted holder would add.",
    "secure sum": "Sites send numbers hidden by masks that cancel, so that only their sum can be "
    "read.",
    "calibration": "How the size of the noise follows from ε and δ. Analytic delivers exactly "
    "what is requested; published formulas may promise more than they deliver.",
    "sensitivity": "How far one person's row can move a result. Noise is measured against it.",
    "preparation": "Centring and scaling the rows before anything else. As published it reads "
    "all rows and is not private.",
    "data dictionary": "What is public about a table, written without looking at it: limits or "
    "levels of each column, and how many rows a person may have.",
    "certificate": "What a release promises, in numbers from which anyone can compute its ε again.",
}
# Words that say the same in other forms, each with its term.
_ALSO = {
    "energy": "survives",
    "captured energy": "survives",
    "survive": "survives",
    "random subspace": "random guess",
    "components": "component",
    "sites": "site",
    "runs": "run",
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
