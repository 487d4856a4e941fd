"""Decisions as pure functions on plain data: naming, values, redaction, health and the plan. No I/O, no clock."""
