"""Fakes of the operator's own edge, in memory: the API server, helm, and the clock.

They exist to run the whole operator, as it is shipped, through hundreds of histories a second. `tests/contracts` holds
them to what the real ones do: the same tests run against both.
"""
