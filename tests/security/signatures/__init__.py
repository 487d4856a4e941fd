"""Threat: a chart that nobody trusted has made is installed."""
