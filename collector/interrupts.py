"""Ctrl-C, SIGTERM and SIGHUP while `collect` works: it stops, and what is under way is neither torn nor lost.

Between launches an interrupt raises KeyboardInterrupt, as always. While a trial is launched and sealed it is only
remembered and handed to whoever waits for the trial, so that it can never be swallowed on the way; the batch looks at
`asked` afterwards. A second one raises everywhere.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """How often the user asked to stop, and what is done about it."""

    def __init__(self) -> None:
        self.asked = 0
        self._held = False
        self._act: Callable[[], None] | None = None

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Handle the signals; those that the process was started to ignore stay ignored (`nohup`, `&` in a script)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        old = {each: signal.getsignal(each) for each in SIGNALS}
        for each in SIGNALS:
            if old[each] is not signal.SIG_IGN:
                signal.signal(each, self._handle)
        try:
            yield
        finally:
            for each in SIGNALS:
                signal.signal(each, old[each])

    @contextmanager
    def held(self) -> Iterator[None]:
        """A span that the first interrupt does not break off."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    @contextmanager
    def acting(self, act: Callable[[], None]) -> Iterator[None]:
        """Inside a held span: `act` is called at an interrupt, at once when there was one already."""
        self._act = act
        try:
            if self.asked:
                act()
            yield
        finally:
            self._act = None

    def _handle(self, *_: object) -> None:
        self.asked += 1
        if self.asked > 1 or not self._held:
            raise KeyboardInterrupt
        if self._act is not None:
            self._act()
