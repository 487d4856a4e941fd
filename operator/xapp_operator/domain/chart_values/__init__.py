"""Values of charts: read as text, merged, found again at their places."""
