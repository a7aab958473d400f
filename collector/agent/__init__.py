"""The agent: a collector that runs by itself on a benchmark host and brings its evidence to a remote repository."""
