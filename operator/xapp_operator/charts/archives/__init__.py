"""Chart archives (.tgz): their limits, every check before Helm sees them, and the cache on disk."""
