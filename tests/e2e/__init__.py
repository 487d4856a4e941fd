"""Operator, gateway and real containers together, used as a user would."""
