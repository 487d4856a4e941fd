"""Tests that need no cluster and no program of the local cluster."""
