"""A session in formats that others read: ATIF, asciicast, Markdown. The status is in none."""
