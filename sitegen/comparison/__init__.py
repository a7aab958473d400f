"""From evidence to a verdict: comparability, effect, envelope, accounting, readiness. Pure: it renders nothing."""

from sitegen.comparison.judge import judge, judge_all, judge_file

__all__ = ["judge", "judge_all", "judge_file"]
