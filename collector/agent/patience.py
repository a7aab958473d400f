"""Signals while the agent works: it stops after the running trial, not in the middle of it.

The first interrupt is remembered, and nothing more is launched; a second one ends the running trial, which is sealed as
cancelled, as `collect` does it at the first. Outside of a launch one raises KeyboardInterrupt, and a third everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from collector.interrupts import Interrupts


class Patience(Interrupts):
    """Interrupts that let the running trial end."""

    @contextmanager
    def acting(self, act: Callable[[], None]) -> Iterator[None]:
        """Inside a held span: `act` is called at the second interrupt, at once when there were two already."""
        self._act = act
        try:
            if self.asked > 1:
                act()
            yield
        finally:
            self._act = None

    def _handle(self, *_: object) -> None:
        self.asked += 1
        if self.asked > 2 or not self._held:
            raise KeyboardInterrupt
        if self.asked == 2 and self._act is not None:
            self._act()
