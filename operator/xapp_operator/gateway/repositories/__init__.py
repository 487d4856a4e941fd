"""Chart repositories: saving and removing them, and browsing their charts and versions."""
