"""What the environment says to the command line `xapp`.

Plain data classes: a library that checks models takes as long to load as a whole command. The text below a field is its
row in `docs/reference/settings.md` (`make reference`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "gateway": ("XAPP_GATEWAY",),
    "token": ("XAPP_TOKEN",),
    "kubeconfig": ("KUBECONFIG",),
    "no_color": ("NO_COLOR",),
    "editor": ("VISUAL", "EDITOR"),
    "config_home": ("XDG_CONFIG_HOME",),
}
"""The variables of each field; the first one with a text counts. Those without XAPP_ are read by other programs too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLineSettings:
    """Environment of the command line `xapp`. A variable without a text counts as one that is not set."""

    gateway: str | None = None
    """URL of the gateway."""
    token: str | None = field(default=None, repr=False)
    """Bearer token for the gateway."""
    kubeconfig: str | None = None
    """Files of the kubeconfig, separated by colons."""
    no_color: str | None = None
    """Any text but an empty one turns colors off."""
    editor: str | None = None
    """The editor of `xapp config edit`. `VISUAL` comes before `EDITOR`."""
    config_home: str | None = None
    """Folder of the login. Default: `~/.config`."""

    @classmethod
    def from_environment(cls) -> Self:
        """Read the variables."""
        found = {name: filter(None, map(os.environ.get, names)) for name, names in VARIABLES.items()}
        return cls(**{name: next(texts, None) for name, texts in found.items()})


def inherited_environment() -> dict[str, str]:
    """Return the environment of this process, for a program that the user starts through it."""
    return dict(os.environ)
