"""One file an agent: how to start it, read its events, answer it."""
