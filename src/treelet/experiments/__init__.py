"""The papers' experiments, each a module with its printed figures beside ours."""
