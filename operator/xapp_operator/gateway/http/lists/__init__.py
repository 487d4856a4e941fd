"""Lists in pages, and the snapshots that keep a walk through them whole."""
