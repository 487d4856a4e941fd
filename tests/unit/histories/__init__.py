"""Whole histories of XApps, with the operator as it is shipped, on fakes of its edge."""
