"""From evidence to a verdict: comparability, effect, envelope, accounting, readiness. Pure: it renders nothing."""
