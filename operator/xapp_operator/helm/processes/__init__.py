"""The processes of helm: arguments, work folder, limits, start and end."""
