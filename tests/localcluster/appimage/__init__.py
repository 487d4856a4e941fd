"""Builds the image of operator and gateway without Docker, from the interpreter and packages of .venv.

The interpreter that runs this code, its standard library and the shared libraries of both are copied to /opt/python. So
the image contains the interpreter and packages that the tests ran with, and nothing has to be downloaded. The layout is
that of the Dockerfile: /opt/xapp-operator is a virtual environment, and `xapp-operator` is in PATH.

Layers, lowest first: interpreter, locked packages, helm, this package. They are cached outside the checkout by the
digest of their sources, so that a change of the code rebuilds only the last layer.
"""

from tests.localcluster.appimage.image import ImageFailed, build_image

__all__ = ["ImageFailed", "build_image"]
