"""One file per judge."""
