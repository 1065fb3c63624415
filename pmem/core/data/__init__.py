"""Word lists and patterns as data; read once, at import of what uses them."""
