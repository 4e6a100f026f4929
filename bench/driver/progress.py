"""What a long run says while it goes on."""

import sys
import time


class Progress:
    """One line, rewritten, on a terminal; nothing elsewhere but what say() says."""

    def __init__(self):
        self._start = time.monotonic()
        self._tty = sys.stderr.isatty()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def __call__(self, text: str) -> None:
        if self._tty:
            minutes, seconds = divmod(int(self.seconds()), 60)
            print(f"\r\x1b[K[{minutes}:{seconds:02}] {text}", end="", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(("\r\x1b[K" if self._tty else "") + text, file=sys.stderr, flush=True)
