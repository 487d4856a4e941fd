"""The one error of this package."""


class ImageFailed(Exception):
    """The image cannot be made here; the message says what is missing."""
