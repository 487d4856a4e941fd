"""The Service Monitor: what labelled objects there are, and how the xApp that they make up fares."""
