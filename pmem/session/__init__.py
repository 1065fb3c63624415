"""One session: events in, answers out, in the order of the ring."""
