"""Deployments: the form, the checks before anything is written, and the writes with the caller's token."""
