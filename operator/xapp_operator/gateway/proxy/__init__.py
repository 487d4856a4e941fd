"""The xApps' own APIs behind the gateway: which Service is meant, what passes, and the two ways to get there."""
