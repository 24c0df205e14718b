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
    return _helps("treelet", top, around)


def _helps(line: str, command: Any, context: Any) -> dict[str, str]:
    """Return the help of a command and of its subcommands."""
    found = {line: command.get_help(context)}
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, name)
        within = inner.make_context(
            name, [], parent=context, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
        )
        found |= _helps(f"{line} {name}", inner, within)
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
