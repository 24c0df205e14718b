"""List the fragments that a kernel counts: the kernels that allow it, the search, and the results of the search.

The search needs only a kernel and a store. Both `treelet.learn` (fragments as features) and `treelet.fragments`
(explanations) use it.
"""
