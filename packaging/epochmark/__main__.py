"""Starts the installed Epochmark."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # workers get the same folder, see app.core.runs

from app.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
