"""Small functions for everyday work."""
