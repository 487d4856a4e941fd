"""Stores uploaded charts as ChartArchives, and serves them as Helm repositories."""
