import re
from pathlib import Path

import pytest

from xapp_operator.gateway.http.responses.dashboard_files import (
    BUILT_FOLDER,
    DashboardFiles,
    accepts_gzip,
    new_nonce,
)

ROOT = Path(__file__).parents[4]


def test_the_files_come_from_the_folder_into_which_they_are_built() -> None:
    built = re.search(r"^static=(\S+)$", (ROOT / "hack" / "dashboard").read_text(), re.MULTILINE)
    assert built is not None
    assert ROOT / built[1] == BUILT_FOLDER


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("gzip, deflate, br", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("*", True),
        ("deflate;q=1, gzip;q=0.001", True),
        ("gzip ; q=0.5", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("*, gzip; Q=0", False),
        ("gzip;q=", False),
        ("gzip;q=often", False),
        ("gzip;q=nan", False),
        ("notgzip", False),
    ],
)
def test_a_client_says_whether_it_accepts_gzip(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


def test_a_nonce_has_128_random_bits_that_a_policy_can_name() -> None:
    nonces = {new_nonce() for _ in range(100)}

    assert len(nonces) == 100
    assert all(len(each) == 22 and set(each) < set("-_") | set(map(chr, range(48, 123))) for each in nonces)


def test_an_empty_folder_has_no_dashboard(tmp_path: Path) -> None:
    assert DashboardFiles.load(tmp_path) is None


def test_a_page_without_a_place_for_the_nonce_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html>")

    assert DashboardFiles.load(tmp_path) is None


def test_only_files_of_the_folder_are_assets(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("__CSP_NONCE__")
    (tmp_path / "secret.txt").write_text("secret")
    assets = tmp_path / "assets"
    (assets / "fonts").mkdir(parents=True)
    (assets / "fonts" / "a.woff2").write_bytes(b"font")
    (assets / "a.js").write_text("1")
    (assets / "a.js.gz").write_bytes(b"packed")
    (assets / "link.txt").symlink_to(tmp_path / "secret.txt")
    found = DashboardFiles.load(tmp_path)

    assert found is not None
    assert sorted(found.assets) == ["a.js", "fonts/a.woff2"]
    assert (found.assets["a.js"].compressed, found.assets["fonts/a.woff2"].compressed) == (b"packed", None)
    assert len(found.assets["a.js"].tag) == 24
    assert repr(found) == "DashboardFiles()"
    assert repr(found.assets["a.js"]) == (
        f"Asset(media_type='text/javascript; charset=utf-8', tag='{found.assets['a.js'].tag}')"
    )
