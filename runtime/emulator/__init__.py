"""A PTX emulator: runs the text that a GPU would get, checks it, and counts what it does."""
