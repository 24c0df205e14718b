"""Slow definitions that only tests need, written to be read. Those for users are in `treelet.testing`."""
