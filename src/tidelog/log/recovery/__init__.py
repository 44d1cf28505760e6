"""Opening a log: reading its directory, and rescanning what an unclean stop may have torn."""
