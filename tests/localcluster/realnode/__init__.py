"""A real node without Docker: kubelet, containerd, runc, CNI and kube-proxy in namespaces of their own.

An Enclosure holds the namespaces, the control groups and the one link to the machine; RealNode is what runs in it.
Nothing in here writes to the machine outside the cluster's folder, its own control groups and its own link.
"""
