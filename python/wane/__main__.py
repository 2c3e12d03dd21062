"""The ``wane`` command, the same code as the binary: ``python -m wane`` and the script ``wane``."""

import os
import signal
import sys

from wane import _wane


def main() -> int:
    """Runs the command with the process's arguments.

    Returns:
        The exit code: 0 done, 1 a check differs, 2 the user's input is wrong, 3 internal, 130 interrupted.
    """
    if sys.argv[1:2] == ["fleet"] and sys.argv[2:]:
        from wane.fleet.__main__ import main as fleet  # noqa: PLC0415

        return fleet(sys.argv[2:])
    # If the command hands over to Python, it uses this interpreter.
    os.environ.setdefault("WANE_PYTHON", sys.executable)
    # The interpreter's handler would wait for native code to end. A signal that the process ignores stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _wane.main(["wane", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
