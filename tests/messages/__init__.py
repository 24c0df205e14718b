"""Patterns of the messages that tests expect: one module per package, so that wording changes in one place."""
