"""Attacks with chart repositories: hostile indexes, slow servers, wrong credentials, forbidden addresses."""
