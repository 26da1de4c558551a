"""Both databases, read-only: as streams of changes for the app, as one reading for a command."""
