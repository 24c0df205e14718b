"""Kernel values on a GPU: the parts of examples compared by device code, from the same stores as on the CPU."""
