"""Build the page with the ``--help`` output of every command."""

from __future__ import annotations

from typing import Any

WIDTH = 100


def helps() -> dict[str, str]:
    """Return the help of `treelet` and of each command, keyed by command line."""
    from typer.main import get_command

    from treelet.cli.main import app

    top: Any = get_command(app)
    around = top.make_context("treelet", [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH)
    found = {"treelet": top.get_help(around)}
    for name in top.list_commands(around):
        command = top.get_command(around, name)
        inner = command.make_context(
            name, [], parent=around, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
        )
        found[f"treelet {name}"] = command.get_help(inner)
    return found


def page() -> str:
    lines = [
        "# Command-line options",
        "",
        "This page lists every option of every command, as printed by `treelet COMMAND --help`.",
        "[Use treelet from the command line](../command-line.md) shows each command in its shortest form.",
    ]
    for name, text in helps().items():
        lines += ["", f"## {name}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"
