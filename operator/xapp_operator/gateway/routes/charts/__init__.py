"""The routes about uploaded charts and chart repositories."""
