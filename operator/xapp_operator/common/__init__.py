"""Helpers that know nothing of xApps or Kubernetes; every other package may import them."""
