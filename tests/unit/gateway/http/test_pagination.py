"""Page parameters and pages, without HTTP."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.config.settings import Settings
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.lists.pagination import (
    SORTED_LIST_PARAMETERS,
    PageBounds,
    PageRequest,
    compute_page_bounds,
    link_header,
    page_envelope,
    parse_list_request,
)
from xapp_operator.gateway.http.requests.query import StrictQuery

SETTINGS = Settings()
SORTS = ("created", "name")
KNOWN = (*SORTED_LIST_PARAMETERS, "search")


def read(query_string: str, *, settings: Settings = SETTINGS) -> PageRequest:
    query = StrictQuery(query_string.encode()).allow_only(KNOWN)
    return parse_list_request(query, settings, name="xapps", sorts=SORTS)


@pytest.mark.parametrize("query", ["", "page=", "page=&per_page=&sort=&order=&pretty=&search="])
def test_blank_parameters_mean_the_defaults(query: str) -> None:
    assert read(query) == PageRequest(page=1, per_page=10, sort="created", descending=False, pretty=False)


def test_every_parameter_is_read() -> None:
    page_request = read("page=3&per_page=25&sort=name&order=desc&pretty=true")

    assert page_request == PageRequest(page=3, per_page=25, sort="name", descending=True, pretty=True)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("page=0", "at least 1"),
        ("page=-1", "at least 1"),
        ("page=1.5", "integer"),
        ("page=abc", "integer"),
        ("page=1e3", "integer"),
        ("page=%201", "integer"),
        ("page=%D9%A3", "integer"),
        ("page=" + "9" * 5000, "integer"),
        ("per_page=0", "between 1 and 100"),
        ("per_page=101", "between 1 and 100"),
        ("per_page=99999999999999999999", "between 1 and 100"),
        ("per_page=x", "between 1 and 100"),
        ("page=1&page=1", "more than once"),
        ("page=1&page=2", "more than once"),
        ("pages=2", "did you mean 'page'"),
        ("Sort=name", "did you mean 'sort'"),
        ("sort=colour", "created, name"),
        ("order=up", "asc, desc"),
        ("pretty=yes", "true or false"),
        ("search=%FF", "UTF-8"),
        ("&".join(f"p{i}=1" for i in range(60)), "50"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_bound(query: str, names: str) -> None:
    with pytest.raises(MalformedRequest) as refusal:
        read(query)

    assert refusal.value.status == 400
    assert names in refusal.value.message
    assert len(refusal.value.message) < 300


def test_the_bounds_are_configurable() -> None:
    settings = Settings(min_items_per_page=5, max_items_per_page=50, default_items_per_page=20)

    assert read("", settings=settings).per_page == 20
    with pytest.raises(MalformedRequest, match="between 5 and 50"):
        read("per_page=4", settings=settings)


def test_an_unpaginated_list_refuses_page_and_per_page() -> None:
    settings = Settings(unpaginated_lists=("xapps",))

    assert compute_page_bounds(read("order=desc", settings=settings), total_count=7) == PageBounds(1, 7, 1, 0, 7)
    for query in ("page=1", "per_page=10", "page="):
        with pytest.raises(MalformedRequest, match="turned off"):
            read(query, settings=settings)


@given(total=st.integers(0, 500), per_page=st.integers(1, 100))
def test_the_pages_of_a_list_cover_it_once_in_order(total: int, per_page: int) -> None:
    page_request = replace(read(""), per_page=per_page)
    last = compute_page_bounds(page_request, total_count=total).last_page
    pages = [compute_page_bounds(replace(page_request, page=page), total_count=total) for page in range(1, last + 1)]

    assert [item for page in pages for item in range(page.start, page.stop)] == list(range(total))
    assert [page.is_last_page for page in pages] == [False] * (last - 1) + [True]
    with pytest.raises(MalformedRequest, match=f"between 1 and {last}"):
        compute_page_bounds(replace(page_request, page=last + 1), total_count=total)


def test_an_empty_list_is_one_empty_page() -> None:
    at = compute_page_bounds(read(""), total_count=0)

    assert json.loads(page_envelope(at, [])) == {
        "page": 1,
        "total_count": 0,
        "last_page": 1,
        "is_last_page": True,
        "content": [],
    }


def links(query_string: str, *, total: int) -> dict[str, str]:
    query = StrictQuery(query_string.encode()).allow_only(KNOWN)
    at = compute_page_bounds(parse_list_request(query, SETTINGS, name="xapps", sorts=SORTS), total_count=total)
    header = link_header(at, path="/api/xapps", query=query)
    return {
        rel.removeprefix('rel="').removesuffix('"'): target.strip("<>")
        for target, rel in (link.split("; ") for link in header.split(", "))
    }


def test_links_keep_every_other_parameter() -> None:
    assert links("search=a%26b%20%3E&page=2&per_page=10&order=desc", total=35) == {
        "first": "/api/xapps?search=a%26b+%3E&per_page=10&order=desc&page=1",
        "prev": "/api/xapps?search=a%26b+%3E&per_page=10&order=desc&page=1",
        "next": "/api/xapps?search=a%26b+%3E&per_page=10&order=desc&page=3",
        "last": "/api/xapps?search=a%26b+%3E&per_page=10&order=desc&page=4",
    }


def test_links_keep_every_parameter_of_a_page() -> None:
    query = "pretty=true&per_page=10&sort=name&order=desc&search=a"
    assert set(links(f"page=2&{query}", total=35).values()) == {f"/api/xapps?{query}&page={page}" for page in (1, 3, 4)}


def test_the_first_and_last_page_have_no_link_beyond_them() -> None:
    assert links("", total=5) == {"first": "/api/xapps?page=1", "last": "/api/xapps?page=1"}
    assert "next" not in links("page=4", total=35)
    assert "prev" not in links("page=1", total=35)
