"""Everything about Helm: the one starter of helm processes, what they answer, and Helm's own records."""
