"""The command line: one module a command, thin. Whatever is slow to import is imported inside the commands."""
