"""Labels on the objects of a release, as helm applies it."""
