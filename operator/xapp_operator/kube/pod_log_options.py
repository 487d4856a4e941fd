"""The options for reading the log of a container (core/v1, PodLogOptions)."""

from __future__ import annotations

from dataclasses import dataclass

from xapp_operator.kube.request_encoding import drop_none


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLogOptions:
    """Which part of the log of `container` to read; None means no limit.

    `since_seconds` is relative to now, `since_time` is RFC 3339 (fractions of a second are ignored). `previous` selects
    the container before the last restart. With `timestamps`, each line starts with its time.
    """

    container: str
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: str | None = None
    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    limit_bytes: int | None = None

    def query_params(self) -> dict[str, str]:
        """Return the query."""
        flags = {"previous": self.previous, "follow": self.follow, "timestamps": self.timestamps}
        numbers = {"tailLines": self.tail_lines, "sinceSeconds": self.since_seconds, "limitBytes": self.limit_bytes}
        return drop_none(
            container=self.container,
            sinceTime=self.since_time,
            **{name: "true" for name, on in flags.items() if on},
            **{name: str(number) for name, number in numbers.items() if number is not None},
        )
