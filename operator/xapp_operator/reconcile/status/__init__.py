"""The status of an XApp: conditions, events, and what it says of hooks and drift."""
