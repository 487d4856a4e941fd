"""The Kubernetes API: a client for raw JSON, caches by list and watch, leader election, status and events."""
