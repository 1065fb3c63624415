"""What a person looks at afterward, and while it runs: browser, report, exports."""
