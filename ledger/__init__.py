"""What evidence is: the run folder, its card, metrics and catalog.

Both other rooms share this one: `collector` writes the format that is defined here and `sitegen` reads it. Nothing in
this package launches a trial, renders a page or imports a training framework.
"""
