"""Adapters: how each kind of stack is launched and what it leaves behind. One interface, one file each."""
