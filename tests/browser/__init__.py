"""The built site in a real Chromium, opened from disk."""
