"""What the document that a browser loads first says of the server's address."""

from __future__ import annotations

import pytest

from pages.server.first_paint import _base_script


@pytest.mark.parametrize("path", ["/", "", "/algorithm/", '/"><script>alert(1)</script>', "/a.b"])
def test_only_a_page_s_own_name_is_put_into_the_document(path):
    assert _base_script(path) == b""


def test_a_page_tells_where_the_server_is_behind_any_proxy():
    script = _base_script("/prefix/algorithm").decode()
    assert 'endsWith("/algorithm")' in script and "prefix" not in script
    assert "location.origin" in script
