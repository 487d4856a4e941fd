"""What the fakes of `tests.support.fakes` have in common with what they stand for, as tests that run on both.

`tests/unit/fakes` runs them on the fakes, `tests/integration/fakes` on the real API server, helm and kopf. The real
clock and chart repository need no cluster, so their tests run in `tests/unit/fakes` too.
"""
