"""The lists in memory: xApps, Services and repositories, kept current by watches, and the feed of their changes."""
