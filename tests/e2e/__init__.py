"""Operator, gateway and real containers together, driven as a user would."""
