"""Moves bytes: pty relay, marks, banner."""
