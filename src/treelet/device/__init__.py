"""Kernel values on a GPU. Device code compares the parts of examples, which come from the same stores as on the CPU."""
