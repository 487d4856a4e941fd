"""What is watched, and kept in memory."""
