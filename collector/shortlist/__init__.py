"""Drafts stacks from public rows into a benchmark file: text is added to what people wrote, nothing is rewritten."""
