"""What agents leave on disk of a past run, read as the neutral lines: one file a format."""
