"""The subcommands of this room, one file each."""
