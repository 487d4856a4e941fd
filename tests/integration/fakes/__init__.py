"""The real API server and helm keep the contract that the fakes keep."""
