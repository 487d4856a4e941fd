"""What both processes tell about themselves: logs and metrics. Every layer above may use it; it knows none of them."""
