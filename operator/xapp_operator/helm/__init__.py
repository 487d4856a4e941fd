"""Everything about Helm: starting helm processes, reading their output, and Helm's release records."""
