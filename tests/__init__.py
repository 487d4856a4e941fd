"""Tests: unit (no cluster), integration (a real API server and helm), e2e (real containers), and benchmarks."""
