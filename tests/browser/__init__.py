"""The dashboard in Chromium, against the real gateway, operator and control plane."""
