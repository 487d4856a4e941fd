"""The only importer of the Kubernetes client: raw JSON, caches by list and watch, lease, status, events."""
