"""The routes about xApps, one module for each part of the API."""
