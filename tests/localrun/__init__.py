"""`make run`: all of xapp-operator on one machine, with two sample xApps: ``python -m tests.localrun``.

`session` runs the steps in order; each other module is one step. `tests.localcluster` runs the control plane.
"""
