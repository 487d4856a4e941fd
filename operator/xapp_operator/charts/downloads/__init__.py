"""Downloads over HTTP: the one client for repositories and registries, and the addresses it may connect to."""
