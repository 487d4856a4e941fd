"""The error of this package."""


class ImageFailed(Exception):
    """The image cannot be built on this machine; the message names what is missing."""
