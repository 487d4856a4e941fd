"""The operator with its service account and the roles of manifests/base, on a cluster of its own."""
