"""One module a verb. Each says its precondition and what it changes in the draft; none writes status itself."""
