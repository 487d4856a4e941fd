"""The command line: ``python -m tests.localcluster.appimage --name xapp-operator:dev --output dist/image.tar``."""

import argparse
import sys
import time
from pathlib import Path

from tests.localcluster.appimage import ImageFailed, build_image
from tests.localcluster.appimage.sbom import write_sbom
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.progress import print_progress


def main(arguments: list[str]) -> int:
    """Build the image and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.localcluster.appimage", description=__doc__)
    parser.add_argument("--name", default="xapp-operator:dev", help="name and tag")
    parser.add_argument("--output", type=Path, required=True, help="the archive to write (OCI layout, tar)")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    try:
        build_image(options.output, name=options.name)
    except (ImageFailed, BuildFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = options.output.stat().st_size / 2**20
    sbom = write_sbom(options.output, name=options.name)
    print_progress(
        f"{options.name}: {size:.0f} MiB after {time.monotonic() - begin:.1f} s in {options.output}, contents in {sbom}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
