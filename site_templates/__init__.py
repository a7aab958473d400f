"""Jinja templates, CSS and JavaScript of the site; no logic beyond loops and conditionals."""
