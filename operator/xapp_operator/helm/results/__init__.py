"""What helm prints, as errors with a reason."""
