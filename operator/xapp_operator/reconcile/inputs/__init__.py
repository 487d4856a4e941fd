"""The inputs of a release: chart, values, and the account that helm uses."""
