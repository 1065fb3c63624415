"""Training: what recorded runs teach, as data for a model and as a gate that keeps pmem quiet."""
