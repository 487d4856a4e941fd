"""Paths that are refused because their meaning changes on the way, and paths of pages."""

from __future__ import annotations

import pytest

from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.requests.paths import can_be_page, check_path

PATH_MAX_BYTES = 8192


@pytest.mark.parametrize(
    "path", [b"/", b"/a/b-c_d~e!", b"/a%20b", b"/a;b=c/d", b"/%C3%A4", b"/a..b/...", b"/.well-known", b"x" * 8192]
)
def test_a_path_with_one_meaning_is_accepted(path: bytes) -> None:
    check_path(path)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (b"/" * (PATH_MAX_BYTES + 1), "longer than 8192 bytes"),
        (b"/a%2", "a % without two hexadecimal digits"),
        (b"/a%zz", "a % without two hexadecimal digits"),
        (b"/a%252Fb", "encoded twice"),
        (b"/a%0Ab", "a control character"),
        (b"/a%7Fb", "a control character"),
        (b"/a\x00b", "a control character"),
        (b"/a\\b", "a backslash"),
        (b"/a%5Cb", "a backslash"),
        (b"/a%C0%AF", "not UTF-8"),
        (b"/a\xff", "not UTF-8"),
        (b"/a/../b", "a segment . or .."),
        (b"/a/./b", "a segment . or .."),
        (b"/a/%2e%2E/b", "a segment . or .."),
        (b"/a/..;x/b", "a segment . or .."),
        (b"/..", "a segment . or .."),
    ],
)
def test_a_path_whose_meaning_changes_is_refused_with_the_rule(path: bytes, says: str) -> None:
    with pytest.raises(MalformedRequest, match=says):
        check_path(path)


@pytest.mark.parametrize("path", ["/", "", "/xapps", "/xapps/ns/a.b", "/apis", "/apixx/y", "/x\ny"])
def test_a_path_outside_the_api_may_be_a_page(path: str) -> None:
    assert can_be_page(path)


@pytest.mark.parametrize(
    "path", ["/api", "/api/xapps", "/assets/a.js", "/helmrepo/x", "/healthz", "/readyz/", "/metrics", "/a.js", "//a"]
)
def test_a_path_of_the_api_or_of_a_file_is_no_page(path: str) -> None:
    assert not can_be_page(path)
