"""`python -m dpcore`."""

from dpcore.command_line import main

if __name__ == "__main__":
    raise SystemExit(main())
