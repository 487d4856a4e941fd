"""Reads the stored records of releases, and the objects that they consist of. It only reads."""
