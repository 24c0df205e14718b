"""The fragments that a kernel counts, listed: which kernels allow it, the search, and the values that it returns.

The search needs only a kernel and a store, so that both `treelet.learn` (fragments as features) and `treelet.fragments`
(explanations) can use it.
"""
