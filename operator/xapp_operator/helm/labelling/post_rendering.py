"""Changes what helm renders before helm stores and applies it: the other end of helm's post-renderer.

helm 4 starts a plugin for that. Ours passes the manifest through two pipes in helm's working folder: helm renders into
`rendered`, this process adds labels, and helm goes on with what it reads from `labelled`. The plugin runs a constant
script, in which nothing of a chart or an XApp occurs. So what `helm get manifest` shows is what was applied.

A manifest that cannot be labelled is passed on as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xapp_operator.common.loop_pipe import LoopPipe
from xapp_operator.common.off_loop import run_sized
from xapp_operator.config.settings import MIB
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata, add_metadata

POST_RENDERER: Final = "xapp-labels"
"""The name of the plugin."""
MANIFEST_BYTES_MAX: Final = 16 * MIB
"""A longer manifest ends the plugin, and so helm, before anything is stored. It could not be stored anyway."""
LABELLED_BYTES_MAX: Final = 4 * MIB
"""A longer manifest is not labelled while it is rendered."""

# helm's pkg/action/action.go. It reads YAML more strictly there, and an empty manifest is an error.
# pkg/cmd/flags.go: helm loads no plugin when it cannot make the folder of its cache, because the disk is full.
_FAILED: Final = re.compile(
    'error merging manifests: |error while running post render|for "--post-renderer" flag: plugin: '
)
_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
_RENDERED: Final = "rendered"
_LABELLED: Final = "labelled"
# `labelled` is opened first: when `rendered` has ended, it has a reader.
_SHELL, _CAT = _PROGRAMS = ("/bin/sh", "/bin/cat")
_SCRIPT: Final = f"exec 3<{_LABELLED} && {_CAT} >{_RENDERED} && exec {_CAT} <&3"
_MANIFEST: Final = {
    "apiVersion": "v1",
    "type": "postrenderer/v1",
    "name": POST_RENDERER,
    "version": "1.0.0",
    "runtime": "subprocess",
    "runtimeConfig": {"platformCommand": [{"command": _SHELL, "args": ["-c", _SCRIPT]}]},
}


def write_plugin(folder: Path) -> bool:
    """Write the plugin to `folder`, which is HELM_PLUGINS of the processes that use it.

    Return False if its programs are missing, as in an image without a shell. Then nothing can be post-rendered.
    """
    if not all(os.access(each, os.X_OK) for each in _PROGRAMS):
        return False
    plugin = folder / POST_RENDERER
    plugin.mkdir(parents=True, exist_ok=True)
    (plugin / "plugin.yaml").write_text(json.dumps(_MANIFEST))  # JSON is YAML
    return True


@dataclass(slots=True)
class PostRendering:
    """What one helm process adds to its objects.

    `complete` means that all of them got it. `handed_back` means that helm may have the manifest, and may have stored
    it: before that, helm stores and applies nothing.
    """

    added: ObjectMetadata
    complete: bool = False
    handed_back: bool = False

    def is_failed(self, stderr: str) -> bool:
        """Return whether helm found no plugin, could not read the manifest, or did not get it back.

        Nothing is stored or applied then.

        A template can print the same before. What the API server quotes of a chart comes after the manifest is back.
        """
        return not self.handed_back and _FAILED.search(stderr) is not None

    @contextlib.asynccontextmanager
    async def answering(self, folder: Path) -> AsyncIterator[None]:
        """Answer the plugin of the helm process that runs in `folder`, while the context is open."""
        self.complete = self.handed_back = False
        for name in (_RENDERED, _LABELLED):
            os.mkfifo(folder / name, 0o600)
        task = asyncio.create_task(self._answer(folder), name="post-renderer")
        try:
            yield
        finally:
            task.cancel()  # helm may have ended before it rendered anything
            await asyncio.gather(task, return_exceptions=True)

    async def _answer(self, folder: Path) -> None:
        # Opened for both, `labelled` lets the plugin open it without waiting.
        opened = os.open(folder / _LABELLED, os.O_RDWR | _FLAGS)
        try:
            manifest = await _read(folder / _RENDERED)
            if manifest is None:
                return
            labelled = await self._add(manifest)
            target = os.open(folder / _LABELLED, os.O_WRONLY | _FLAGS)
        finally:
            os.close(opened)
        self.handed_back = bool(labelled)  # helm takes an empty manifest for an error
        await _write(target, labelled)

    async def _add(self, manifest: bytes) -> bytes:
        if len(manifest) > LABELLED_BYTES_MAX:
            return manifest
        try:
            text = manifest.decode()
        except UnicodeDecodeError:
            return manifest
        labelled = await run_sized(len(manifest), add_metadata, text, self.added)
        self.complete = labelled.complete
        return labelled.text.encode()


async def _read(path: Path) -> bytes | None:
    """Return the whole manifest, or None if it is too long."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    pipe = LoopPipe(os.open(path, os.O_RDONLY | _FLAGS), loop)
    source, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    found = bytearray()
    with contextlib.closing(source):
        while chunk := await reader.read(MIB):
            found += chunk
            if len(found) > MANIFEST_BYTES_MAX:
                return None
    return bytes(found)


async def _write(descriptor: int, content: bytes) -> None:
    """Write the whole manifest, and close the pipe: most manifests fit into it at once."""
    written = _write_now(descriptor, content)
    if written is None or written == len(content):
        os.close(descriptor)
        return
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), LoopPipe(descriptor, loop)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    with contextlib.closing(writer), contextlib.suppress(BrokenPipeError, ConnectionResetError):
        writer.write(memoryview(content)[written:])
        await writer.drain()


def _write_now(descriptor: int, content: bytes) -> int | None:
    """Return how many bytes the pipe takes without waiting, or None if nobody reads it any more."""
    try:
        return os.write(descriptor, content)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return None
