"""The REST API: it writes XApps as the caller, serves lists from memory, and never changes a release."""
