"""Tests against a real API server and the real helm; pods are simulated."""
