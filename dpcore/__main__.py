"""`python -m dpcore`, and `dpcore` where it is installed."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line, and report an interruption during its import like a later one."""
    try:
        from dpcore.command_line import main as command_line

        return command_line()
    except KeyboardInterrupt:
        print("dpcore: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
