"""HTTP for every route: middleware, bodies, queries, pagination, problems, limits and OpenAPI helpers."""
