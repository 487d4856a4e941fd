"""Where the gateway is, and as whom the command line signs in."""
