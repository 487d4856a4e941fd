"""Attacks on operator and gateway, one module per threat; docs/security.md lists the threats and their tests."""
