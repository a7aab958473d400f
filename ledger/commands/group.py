"""A group of subcommands that offers the nearest name where somebody misspells one."""

from __future__ import annotations

import click

from ledger.suggestion import nearest


class Group(click.Group):
    """click's group, but for the words of that one error."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it. Raises UsageError."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no command {args[0]!r}; {nearest(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)


def usage_line(error: click.ClickException) -> str:
    """What click says of a wrong command line, in one line that ends with what to do."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption):
        known = [name for each in context.command.params for name in each.opts] if context else []
        near = nearest(error.option_name, [*known, "--help"])
        return f"no option {error.option_name}; {near if near.startswith('did you mean') else _help(context)}"
    said = error.format_message().rstrip(".")
    said = f"{said[:1].lower()}{said[1:]}"
    return f"{said}; {_help(context)}" if context is not None and ";" not in said else said


def _help(context: click.Context | None) -> str:
    return f"see `{context.command_path if context else 'stackproof'} --help`"
