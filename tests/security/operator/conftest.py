"""The operator on a cluster of its own, as in tests/integration/operator."""

from tests.integration.operator.conftest import cluster, operator, xapps

__all__ = ["cluster", "operator", "xapps"]
