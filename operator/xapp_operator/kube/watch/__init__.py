"""List and watch: the events of the API server, and the cache that they keep up to date."""
