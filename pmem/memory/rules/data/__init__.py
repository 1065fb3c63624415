"""Word lists and sentences of the rules."""
