"""The terminal a person sits at, opened by its own name: what is piped into the process, or typed for it by another program,
does not answer here."""

from __future__ import annotations

import os
import sys
from typing import Protocol


class Terminal(Protocol):
    """A conversation with a person. Every method raises EOFError when the terminal goes away, KeyboardInterrupt for ^C."""

    def say(self, text: str) -> None:
        """Writes the text as it is; the caller takes out what a terminal would obey."""
        ...

    def line(self, prompt: str) -> str:
        """One typed line without its end."""
        ...

    def secret(self, prompt: str) -> str:
        """One typed line that does not show. What was typed before the question is thrown away."""
        ...

    def key(self, prompt: str) -> str:
        """One key, without waiting for Enter; empty for a key that is no character."""
        ...

    def width(self) -> int:
        """Columns."""
        ...

    def close(self) -> None: ...


def open_terminal() -> Terminal | None:
    """The terminal of this process; `None` when it has none, or is not the one that the terminal now listens to (reading
    would stop the process)."""
    try:
        return _Console()
    except (OSError, EOFError):
        return None


if sys.platform == "win32":
    import msvcrt

    class _Console:
        """The console, which a redirected stdin does not replace."""

        def __init__(self) -> None:
            self._out = open("CONOUT$", "w", encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
            try:
                open("CONIN$").close()  # noqa: PTH123
            except OSError:
                self._out.close()
                raise

        def say(self, text: str) -> None:
            self._out.write(text)
            self._out.flush()

        def line(self, prompt: str) -> str:
            return self._typed(prompt, show=True)

        def secret(self, prompt: str) -> str:
            while msvcrt.kbhit():
                msvcrt.getwch()
            return self._typed(prompt, show=False)

        def key(self, prompt: str) -> str:
            self.say(prompt)
            char = msvcrt.getwch()
            if char in "\0\xe0":
                msvcrt.getwch()
                return ""
            return _obeyed(char)

        def width(self) -> int:
            return os.get_terminal_size(self._out.fileno()).columns

        def close(self) -> None:
            self._out.close()

        def _typed(self, prompt: str, *, show: bool) -> str:
            self.say(prompt)
            typed = ""
            while (char := _obeyed(msvcrt.getwch())) not in "\r\n":
                if char == "\b":
                    typed = typed[:-1]
                    self.say("\b \b" if show else "")
                else:
                    typed += char
                    self.say(char if show else "")
            self.say("\n")
            return typed

    def _obeyed(char: str) -> str:
        if char == "\x03":
            raise KeyboardInterrupt
        if char == "\x1a":
            raise EOFError
        return char

else:
    import termios

    class _Console:
        """`/dev/tty`."""

        def __init__(self) -> None:
            self._fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            try:
                ours = os.tcgetpgrp(self._fd) == os.getpgrp()
            except OSError:
                ours = False
            if not ours:
                os.close(self._fd)
                raise EOFError

        def say(self, text: str) -> None:
            content = text.encode("utf-8", "replace")
            while content:
                content = content[os.write(self._fd, content) :]

        def line(self, prompt: str) -> str:
            self.say(prompt)
            return self._line()

        def secret(self, prompt: str) -> str:
            before = termios.tcgetattr(self._fd)
            silent = list(before)
            silent[3] &= ~termios.ECHO
            # Silent before the question stands there: whoever answers at once must not see it, nor lose it.
            termios.tcsetattr(self._fd, termios.TCSAFLUSH, silent)
            try:
                self.say(prompt)
                return self._line()
            finally:
                termios.tcsetattr(self._fd, termios.TCSAFLUSH, before)
                self.say("\n")

        def key(self, prompt: str) -> str:
            before = termios.tcgetattr(self._fd)
            single = list(before)
            single[3] &= ~(termios.ECHO | termios.ICANON)
            single[6] = [*single[6]]
            single[6][termios.VMIN], single[6][termios.VTIME] = 1, 0
            # Before the question stands there, for the same reason as above.
            termios.tcsetattr(self._fd, termios.TCSADRAIN, single)
            try:
                self.say(prompt)
                # An arrow or a function key comes in one piece and begins with an escape; a pasted text is no key.
                typed = self._read()
            finally:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, before)
            if typed == b"\x04":
                raise EOFError
            text = typed.decode("utf-8", "replace")
            return text if len(text) == 1 and text.isprintable() else "\n" if text in ("\r", "\n") else ""

        def width(self) -> int:
            return os.get_terminal_size(self._fd).columns

        def close(self) -> None:
            os.close(self._fd)

        def _line(self) -> str:
            typed = b""
            while not typed.endswith(b"\n"):
                typed += self._read()
            return typed.rstrip(b"\r\n").decode("utf-8", "replace")

        def _read(self) -> bytes:
            try:
                piece = os.read(self._fd, 4096)
            except OSError as error:  # the other side hung up
                raise EOFError from error
            if not piece:
                raise EOFError
            return piece
