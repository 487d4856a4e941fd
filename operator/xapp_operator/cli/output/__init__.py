"""What the command line prints: tables, JSON, YAML, diffs and messages, all safe for a terminal."""
