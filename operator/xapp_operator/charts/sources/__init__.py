"""Where charts come from: one module for each kind of source, and what the sources share."""
