"""The Helm chart of the operator, with the real helm."""
