"""The models of requests and responses in the OpenAPI document, one module for each subject of the API."""
