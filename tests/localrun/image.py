"""The image of the sample xApps, made without Docker: ``python -m tests.localrun.image`` prints where it lies.

It is a tar of an OCI layout, which a local cluster's real node, kind (``kind load image-archive``) and containerd
(``ctr -n k8s.io images import``) take; it is in no registry.
"""

import hashlib
import os
from pathlib import Path

from tests.localcluster import Binaries, images
from tests.localcluster.tools import KPI_MONITOR

IMAGE = "localhost/kpi-monitor:1.0.0"
"""Its name, as the charts' values have it; the tag is the version of the program."""


def sample_image(binaries: Binaries) -> Path:
    """Return the archive, which lies beside the program in the cache; both are made first when they are not there.

    Raises BuildFailed.
    """
    program = binaries.resolve([KPI_MONITOR.name])[KPI_MONITOR.name]
    recipe = hashlib.sha256(Path(images.__file__).read_bytes() + IMAGE.encode()).hexdigest()[:12]
    archive = program.with_name(f"image-{recipe}.tar")
    if not archive.exists():
        # as a whole or not at all; two that make it at once make the same
        half = archive.with_suffix(f".{os.getpid()}")
        images.write_image(half, name=IMAGE, files={"/kpi-monitor": program}, entrypoint=["/kpi-monitor"])
        half.replace(archive)
    return archive


if __name__ == "__main__":
    print(sample_image(Binaries()))
