"""Attacks of one tenant on the operator; another tenant must not notice."""
