"""Planning: which action follows from what is desired and what is there."""
