"""Looks for known vulnerabilities of the locked packages and of the Go programs (`make audit`)."""
