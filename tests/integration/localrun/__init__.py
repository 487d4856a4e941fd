"""Tests of `make run` as a process, of the README's commands, and of the roles in manifests/."""
