"""Builds the image of the sample xApps without Docker: ``python -m tests.localrun.image`` prints its path.

The image is a tar of an OCI layout, for a local cluster's real node, kind (``kind load image-archive``) and containerd
(``ctr -n k8s.io images import``). It is in no registry.
"""

import hashlib
import os
from pathlib import Path

from tests.localcluster import Binaries, images
from tests.localcluster.tools import KPI_MONITOR

IMAGE = "localhost/kpi-monitor:1.0.0"
"""The image name in the charts' values; the tag is the version of the program."""


def sample_image(binaries: Binaries) -> Path:
    """Return the archive, next to the program in the cache, after building whichever is missing.

    Raises BuildFailed.
    """
    program = binaries.resolve([KPI_MONITOR.name])[KPI_MONITOR.name]
    recipe = hashlib.sha256(Path(images.__file__).read_bytes() + IMAGE.encode()).hexdigest()[:12]
    archive = program.with_name(f"image-{recipe}.tar")
    if not archive.exists():
        # atomic; two processes that build it at the same time write the same bytes
        half = archive.with_suffix(f".{os.getpid()}")
        images.write_image(half, name=IMAGE, files={"/kpi-monitor": program}, entrypoint=["/kpi-monitor"])
        half.replace(archive)
    return archive


if __name__ == "__main__":
    print(sample_image(Binaries()))
