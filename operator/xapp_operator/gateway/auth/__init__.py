"""Authentication and permissions: callers, access reviews, session cookies and their keys."""
