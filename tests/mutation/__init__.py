"""Mutation tests: change one place of the package at a time, and list the changes that no unit test notices."""
