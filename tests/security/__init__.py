"""Attacks on operator and gateway, one module per threat.

The tables in docs/security.md name every module. Read the modules in that order.
"""
