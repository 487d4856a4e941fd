"""One xApp: its configuration, health, logs, events and release, as its routes answer them."""
