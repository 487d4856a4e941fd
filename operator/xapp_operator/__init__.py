"""xapp-operator: the life of an xApp on the Kubernetes cluster of a near-RT RIC."""
