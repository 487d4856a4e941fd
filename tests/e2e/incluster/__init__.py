"""Operator and gateway as pods of the real node, with the image and the manifests of this checkout."""
