"""A real node without Docker: kubelet, containerd, runc, CNI and kube-proxy in namespaces of their own.

NodeNamespaces holds the namespaces, the control groups and the network link to the machine; RealNode describes the
processes inside. A node changes nothing on the machine but the cluster's folder, its control groups and its link.
"""
