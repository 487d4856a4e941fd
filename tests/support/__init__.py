"""Helpers that tests of several packages share."""
