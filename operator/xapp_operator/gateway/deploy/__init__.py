"""Deployments: the form, the checks before anything is written, and the writes as the caller."""
