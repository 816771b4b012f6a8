"""What somebody else wrote, shown as what it is: letters, never markup, a link or a picture."""

from __future__ import annotations

import re
import unicodedata

from dpcore.errors import LONGEST_VALUE, shortened

# Marks that begin something in Streamlit's Markdown: an underscore beside no letter, a colon
# before one, and some that are words by themselves.
_MARKUP = re.compile(
    r"[\\`*\[\]<>#$~|&!{}]|(?<![^\W_])_|_(?![^\W_])|:(?=[A-Za-z])"
    r"|^[-+=](?=[-+=]*$)|(?<=^\d)[.)](?=$)"
)
# Made into links and pictures after Markdown is read, so that a backslash does not stop them.
_MADE_LATER = re.compile(r"://|www\.|@|:[\w+/-]+:|^(?:mailto|xmpp):", re.IGNORECASE)
_LONGEST_SENTENCE = 1000
_CODE_FENCE = re.compile(r"`+")


def plainly(text: object, longest: int = LONGEST_VALUE) -> str:
    """A text from an address, a file or a person, as Markdown that shows its letters.

    Cut to `longest` characters. Control characters, those that turn the direction of writing and
    those nobody can see are written as their number, [U+202E]. Words that Streamlit makes links
    or pictures of after it has read the Markdown are set as code, which it leaves alone.
    """
    visible = "".join(map(_seen, shortened(str(text), longest)))
    return " ".join(_word(word) for word in visible.split())


def said(sentence: object) -> str:
    """A whole sentence, or an error's, as Markdown; what it quotes was cut where it was raised."""
    return plainly(sentence, longest=_LONGEST_SENTENCE)


def _seen(character: str) -> str:
    if character in " \t\n\r":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"):
        return f"[U+{ord(character):04X}]"
    return character


def _word(word: str) -> str:
    if _MADE_LATER.search(word):
        inside = max((len(run) for run in _CODE_FENCE.findall(word)), default=0)
        fence = "`" * (inside + 1)
        blank = " " if word.startswith("`") or word.endswith("`") else ""
        return f"{fence}{blank}{word}{blank}{fence}"
    return _MARKUP.sub(r"\\\g<0>", word)
