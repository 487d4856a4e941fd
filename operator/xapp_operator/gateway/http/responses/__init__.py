"""What a response is made of: JSON, problem details, streams, and the files of the dashboard."""
