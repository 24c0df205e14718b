"""What two trees, or a model, have in common: shown, not only counted."""

from treelet.explain.fragments import SharedFragment, SharedFragments, shared_fragments

__all__ = ["SharedFragment", "SharedFragments", "shared_fragments"]
