"""The server in the place of an API server, as in the tests of `kube`."""

from tests.unit.kube.conftest import connect

__all__ = ["connect"]
