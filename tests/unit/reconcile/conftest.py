"""A server that replaces an API server, as in the tests of `kube`."""

from tests.unit.kube.conftest import connect

__all__ = ["connect"]
