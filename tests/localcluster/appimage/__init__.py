"""The image of operator and gateway, made without Docker from what this machine runs them with.

The interpreter is the one that runs this code (that of .venv, whichever the person has): its program, its standard
library and the shared libraries that all of it needs are laid out anew under /opt/python. So the image is tested with
the very interpreter and packages that the tests ran with, and nothing has to be downloaded. The layout is that of the
Dockerfile: /opt/xapp-operator is a virtual environment, and `xapp-operator` is on the PATH.

Layers, lowest first: interpreter, locked packages, helm, this package. Each is cached by what it is made of, outside
the checkout, so that a change of the code makes the last one only.
"""

from tests.localcluster.appimage.image import ImageFailed, build_image

__all__ = ["ImageFailed", "build_image"]
