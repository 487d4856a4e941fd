"""What the environment says: to operator and gateway (`settings`), and to the command line (`command_line`)."""
