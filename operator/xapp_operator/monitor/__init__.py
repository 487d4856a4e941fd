"""The Service Monitor: watches labelled objects, registers xApps by them, and reports their health."""
