"""Charts in OCI registries by name, tag and digest, and the URLs that are made of them.

Names and tags also come from the index of a repository, which anybody may write. So each part of a URL is checked: one
with a `/`, also an encoded one, could lead to the charts of others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from yarl import URL

from xapp_operator.charts.chart_request import Repository
from xapp_operator.common.text import quote_input
from xapp_operator.errors import ChartNotFound, ChartSourceError

DIGEST_PATTERN: Final = re.compile("sha256:([0-9a-f]{64})")
_NAME_PATTERN: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG_PATTERN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class OciReference:
    """A chart in a registry: `base` is the URL of the registry, `name` the repository in it.

    Raises:
        ChartNotFound: when a registry cannot have the name.
    """

    repository: Repository
    base: URL
    name: str

    def __post_init__(self) -> None:
        if not _NAME_PATTERN.fullmatch(self.name):
            raise ChartNotFound(
                f"{quote_input(self.name)} is not a valid chart name in a registry: use lower-case letters and digits, "
                "with '.', '_' or '-' between them, in parts separated by '/'. Correct chartName or url."
            )

    def manifest_url(self, tag: str) -> URL:
        """Return the URL of the manifest with a tag. Raises ChartSourceError (permanent) for what is no tag."""
        if not is_tag(tag):
            raise ChartSourceError(
                f"{quote_input(tag)} is not a valid tag in a registry: use at most 128 letters, digits, '.', '_' or "
                "'-', and no '.' or '-' at the start. Correct the index of the repository.",
                permanent=True,
            )
        return self._url("manifests", tag)

    def blob_url(self, digest: str) -> URL:
        """Return the URL of the blob with a sha256 (64 hex digits). Raises ValueError for what is none."""
        name = f"sha256:{digest}"
        if not DIGEST_PATTERN.fullmatch(name):
            raise ValueError("this is not a sha256 in hex digits")
        return self._url("blobs", name)

    def tags_url(self) -> URL:
        """Return the URL of the list of the tags."""
        return self._url("tags", "list")

    def _url(self, *path: str) -> URL:
        return self.base.with_path("/".join(["/v2", self.name, *path]), encoded=True)

    def __str__(self) -> str:
        return f"oci://{self.base.authority}/{self.name}"


def is_tag(text: str) -> bool:
    """Return whether a registry can have this tag."""
    return _TAG_PATTERN.fullmatch(text) is not None
