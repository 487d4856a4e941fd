"""What the fakes of `tests.support.fakes` and the real API server and helm have in common, as tests that run on both.

`tests/unit/fakes` runs them on the fakes, `tests/integration/fakes` on the real ones.
"""
