"""The program of the sample xApps, as a process on loopback."""
