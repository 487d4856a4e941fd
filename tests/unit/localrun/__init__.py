"""Tests of the steps of `make run`."""
