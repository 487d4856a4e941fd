"""The health of an xApp: objects, pods, events and the last log lines of crashed containers."""
