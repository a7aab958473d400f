"""How fast and in how much memory the trace engine works; scripts, not tests: nothing here fails for being slow."""
