"""Matrices in files: .npy and Zarr, whole or resumable, verified by checksums."""
