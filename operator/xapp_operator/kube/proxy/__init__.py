"""Requests that pass through the API server or straight to a Service: HTTP and WebSockets of the xApps' own APIs."""
