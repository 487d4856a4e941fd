"""Python files with their byte code beside them: a container whose files are read-only cannot keep its own.

It saves each start about a second of processor time. The byte code is not compared with its source when it is loaded,
so no time of a file is in it and the same source gives the same bytes.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.localcluster.images import LayerEntry, folder_entries

_LAZY_MODULES = r"/kubernetes/(aio/)?client/(models|api)/(?!__init__)"
"""Two thousand modules that their package loads when somebody asks for one, which nobody does."""


def compile_tree(folder: Path, *, at: str) -> Iterator[LayerEntry]:
    """Compile what lies in ``folder`` as if it lay in ``at``, and give all of it as entries.

    What does not compile stays source only, as with any installer.
    """
    how = ["-qq", "-j0", "--invalidation-mode=unchecked-hash", "-x", _LAZY_MODULES, "-s", str(folder), "-p", at]
    command = [sys.executable, "-m", "compileall", *how, str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return folder_entries(folder, at=at)
