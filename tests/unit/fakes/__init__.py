"""The fakes of the edge keep the contract that the real ones keep."""
