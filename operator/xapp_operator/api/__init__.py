"""The custom resources as the cluster sees them: models, names, conditions, CRD generation. Pure; no I/O."""
