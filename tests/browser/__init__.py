"""The dashboard in Chromium, against the real gateway, operator and control plane. Nothing is mocked.

A test drives a page through `Dashboard`. A violation of the Content-Security-Policy, an error in the console or in a
script fails the test.
"""
