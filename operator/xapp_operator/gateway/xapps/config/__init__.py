"""The configuration of an xApp: addresses, values, and the spec as its author wrote it."""
