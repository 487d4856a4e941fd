"""The work: queue, workers, and when to try again."""
