"""Attacks on the gateway by callers, strangers and xApps."""
