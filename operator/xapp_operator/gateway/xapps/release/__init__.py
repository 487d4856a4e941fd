"""The release of an xApp: its chart, its revisions, and what a change would do to its objects."""
