"""Logs and metrics of both processes. Every layer above may use it."""
