"""The command line `xapp` for people: a client of the gateway's REST API, and of nothing else in the cluster."""
