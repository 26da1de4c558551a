"""Tests of the app: its memory, its keys, how its screens look, and a run in a real terminal."""

import os

# Textual reads these when it is imported, and this is imported before it: snapshots must not depend on them.
for _name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL"):
    os.environ.pop(_name, None)
os.environ["TEXTUAL_ANIMATIONS"] = "none"
