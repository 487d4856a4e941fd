"""Write the CRDs and the namespace policy into the folder given as the argument (`make crds`)."""

import sys
from pathlib import Path

import yaml

from xapp_operator.api.crds import crd_files

HEADER = "# Generated from operator/xapp_operator/api: run `make crds` after a change there.\n"


def main() -> None:
    """Write every file of `crds/`."""
    (folder,) = sys.argv[1:]
    for name, documents in crd_files().items():
        content = yaml.safe_dump_all(documents, sort_keys=False, width=120, allow_unicode=True)
        (Path(folder) / name).write_text(HEADER + content, encoding="utf-8")


if __name__ == "__main__":
    main()
