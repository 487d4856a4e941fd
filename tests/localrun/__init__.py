"""`make run`: the whole of xapp-operator on one machine, with two sample xApps: ``python -m tests.localrun``.

`session` is the sequence; everything else here is one step of it. What runs the control plane is `tests.localcluster`.
"""
