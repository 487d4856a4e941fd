"""The actions of the plan; each module states the precondition and what it changes in the draft."""
