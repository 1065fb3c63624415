"""One file an agent: how to start it under memory, read its events and answer it."""
