"""Where the order of two sides turns round: by load, by length, by price and by demand. It describes; nothing decides
by it."""
