"""Connections of clients: TLS, their number and memory, and the time in which they must be used."""
