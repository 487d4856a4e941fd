"""The operator's process: signals, leader election, probe, and the order of start and stop."""
