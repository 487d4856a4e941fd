"""Adapters from kopf: events of the cluster are passed on to the runtime, and nothing is decided here."""
