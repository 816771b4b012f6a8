"""Text from addresses, files and people is shown as its characters."""

from __future__ import annotations

import pytest

from pages.components.notices import escape_markdown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b*", r"a\*b\*"),
        ("<b>", r"\<b\>"),
        ("[x](y)", r"\[x\](y)"),
        ("https://example.org", "`https://example.org`"),
        ("me@example.org", "`me@example.org`"),
        ("a\u202eb", r"a\[U+202E\]b"),
    ],
)
def test_markup_and_links_stay_text(text, shown):
    assert escape_markdown(text) == shown
