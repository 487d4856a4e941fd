"""One operator for the tests of this folder, on a cluster of their own."""

from tests.support.own_cluster import cluster, operator, operator_settings, prepared_cluster, xapps

__all__ = ["cluster", "operator", "operator_settings", "prepared_cluster", "xapps"]
