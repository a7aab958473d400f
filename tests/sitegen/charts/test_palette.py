"""The palette: one look for each kind of work, told apart without colour and by those who see colours otherwise."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sitegen.charts.palette import NAMES, PART_PATTERNS, number_of, pattern_of
from sitegen.comparison.accounting import PARTS

ASSETS = Path(__file__).parents[3] / "site_templates/assets"
RULE = re.compile(r"(:root|\[data-md-color-scheme=\"slate\"\]) \{([^}]*)\}")
# Viénot, Brettel and Mollon (1999), on linear RGB
SEEN = {
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}


def colours(dark: bool) -> list[np.ndarray]:
    """Linear RGB of each kind, as the style sheets give it."""
    styles = [(ASSETS / name).read_text() for name in ("stackproof.css", "run.css")]
    values: dict[str, str] = {}
    for scheme, body in RULE.findall("\n".join(styles)):
        if scheme == ":root" or dark:
            values |= dict(re.findall(r"(--sp-[a-z_0-9-]+): (#[0-9a-f]{6});", body))
    found = []
    for name in NAMES:
        variable = re.search(rf"\.sp-kind-{name} \{{ fill: var\((.*?)\)", styles[1])
        text = values[variable[1]]
        channels = np.array([int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        found.append(np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4))
    return found


def lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(linear, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("dark", [False, True])
def test_without_colour_lightness_or_pattern_tells_kinds_apart(dark: bool) -> None:
    lightness = [lab(each)[0] for each in colours(dark)]
    for one, other in combinations(range(len(NAMES)), 2):
        if pattern_of(one) == pattern_of(other):
            assert abs(lightness[one] - lightness[other]) >= 10, (NAMES[one], NAMES[other])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("sight", [None, *SEEN])
def test_colours_of_one_pattern_are_apart_for_every_sight(sight: str | None, dark: bool) -> None:
    found = [lab(each if sight is None else np.array(SEEN[sight]) @ each) for each in colours(dark)]
    for one, other in combinations(range(len(NAMES)), 2):
        least = 25 if pattern_of(one) == pattern_of(other) else 7
        assert np.linalg.norm(found[one] - found[other]) >= least, (NAMES[one], NAMES[other])


def test_what_a_part_is_made_of_looks_like_the_part() -> None:
    style = (ASSETS / "run.css").read_text()
    for name, part in (("communication", "exposed_communication"), ("copy", "exposed_copy"), ("input_wait",) * 2):
        assert f".sp-kind-{name} {{ fill: var(--sp-part-{number_of(part)}); }}" in style
        assert pattern_of(NAMES.index(name)) == PART_PATTERNS[PARTS.index(part)]


def test_every_pattern_is_drawn_and_used() -> None:
    strokes = (ASSETS.parent / "charts/timeline.svg.jinja").read_text()
    style = (ASSETS / "run.css").read_text()
    for code, name in enumerate(NAMES):
        pattern = pattern_of(code)
        assert (f".sp-lane-{name} {{ fill: url(#kind-{name}); }}" in style) == bool(pattern)
        assert not pattern or f'"{pattern}": '.replace("\\", "\\\\") in strokes
