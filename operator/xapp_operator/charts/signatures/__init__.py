"""Signatures of charts: keys that are trusted, and checks that an archive is signed with one of them."""
