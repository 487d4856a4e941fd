"""Charts: where they come from, how they are downloaded, and which checks they must pass before Helm gets them."""
