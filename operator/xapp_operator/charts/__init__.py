"""Where charts come from, and whether they may go to helm."""
