"""Requests to the gateway: one client, pages of lists, problems, streams of events."""
