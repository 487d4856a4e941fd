"""What `xapp login` remembers: one gateway, and the token for it. Only the user can read the file (0600)."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xapp_operator.api.json import Json, text
from xapp_operator.cli.errors import CliError

LOGIN_MAX_BYTES: Final = 1024 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Login:
    """One sign-in. `token` is None for a gateway that asks nobody."""

    gateway: str
    token: str | None = field(repr=False)
    ca: str | None = None
    namespace: str | None = None


def login_path(config_home: str | None, *, home: Path) -> Path:
    """Return where the file is (XDG Base Directory Specification)."""
    folder = Path(config_home) if config_home and Path(config_home).is_absolute() else home / ".config"
    return folder / "xapp" / "login.json"


def read_login(path: Path) -> Login | None:
    """Return the sign-in, or None if there is none.

    Raises CliError if others can read the file, or it is damaged.
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & _OTHERS:
                raise CliError(f"other users can read {path}, which has a token: run `chmod 600 {path}`")
            document: Json = json.loads(file.read(LOGIN_MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise CliError(f"{path} cannot be read: run `xapp login` again, or `xapp logout`") from error
    gateway = text(document, "gateway")
    if not gateway:
        raise CliError(f"{path} names no gateway: run `xapp login` again, or `xapp logout`")
    return Login(
        gateway=gateway,
        token=text(document, "token") or None,
        ca=text(document, "ca") or None,
        namespace=text(document, "namespace") or None,
    )


def write_login(path: Path, login: Login) -> None:
    """Replace the sign-in as a whole. Raises CliError if the file cannot be written."""
    document = {"gateway": login.gateway, "token": login.token, "ca": login.ca, "namespace": login.namespace}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".login-")  # 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({key: value for key, value in document.items() if value is not None}, file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror}") from error


def remove_login(path: Path) -> bool:
    """Remove the sign-in, and return whether there was one."""
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise CliError(f"cannot remove {path}: {error.strerror}") from error
    return True
