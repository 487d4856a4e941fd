"""Write the OpenAPI document into the file given as the argument. Needs no cluster."""

import sys
from pathlib import Path

from xapp_operator.config.settings import Settings
from xapp_operator.gateway.app import describe_api


def main() -> None:
    """Write the document as a gateway with the default settings serves it."""
    (target,) = sys.argv[1:]
    Path(target).write_bytes(describe_api(Settings(auth="kubernetes")))


if __name__ == "__main__":
    main()
