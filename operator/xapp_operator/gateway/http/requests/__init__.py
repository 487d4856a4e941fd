"""What a request contains: path, origin, query, body and preconditions, each within its bounds."""
