"""What a page says in prose, checked against what the site's tables show: values, ratios, superlatives, verdicts.

Precision comes first: a sentence is read only where it names stacks of this workspace and says something that the
tables can answer. What is conditional, negated, a forecast or hearsay is left alone. A statement that several
benchmarks could be meant by is contradicted only where none of them bears it out.
"""

from sitegen.prose.checking import Contradiction, check_page, check_verdict
from sitegen.prose.tables import Tables, tables

__all__ = ["Contradiction", "Tables", "check_page", "check_verdict", "tables"]
