"""Fakes of the operator's own edge, in memory: the API server, helm, chart repositories, and the clock with its loop.

They exist to run the whole operator, as it is shipped, through thousands of histories. One takes about 30 ms of
processor time, of which the operator itself uses most. `tests/contracts` holds the fakes to what the real ones do: the
same tests run against both.
"""
