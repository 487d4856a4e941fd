"""Health: what the objects of a release say about it, and the cause of a problem."""
