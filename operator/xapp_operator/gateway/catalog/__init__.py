"""What the gateway keeps in memory: records of xApps, Services and repositories, fed by watches and served in pages."""
