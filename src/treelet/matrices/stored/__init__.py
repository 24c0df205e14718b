"""Matrices in files: whole or resumable, verified by checksums."""
