"""The model proxy: what an agent says to its model, read and, now and then, reminded."""
