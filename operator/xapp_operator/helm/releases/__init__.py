"""The records in which Helm stores releases."""
