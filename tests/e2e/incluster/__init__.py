"""Operator and gateway as pods of the real node, from an image built here and with the manifests of the project."""
