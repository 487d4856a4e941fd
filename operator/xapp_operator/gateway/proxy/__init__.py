"""The reverse proxy to the xApps' own APIs: target selection, paths, headers, and the two routes to an xApp."""
