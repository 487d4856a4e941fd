"""Masking: secrets in values, manifests and texts."""
