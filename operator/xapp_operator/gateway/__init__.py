"""The REST API: it writes XApps as the caller, and reads lists from its own cache; it never changes a release."""
