"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """A shell that starts the suite in the background makes it ignore SIGINT, and so would each program under test."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
