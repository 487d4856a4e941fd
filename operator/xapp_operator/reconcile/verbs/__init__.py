"""One module per action of the plan; each states its precondition and what it changes in the draft."""
