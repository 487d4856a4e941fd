"""kopf adapters: what comes in from the cluster is noted in the store and queued; nothing is decided here."""
