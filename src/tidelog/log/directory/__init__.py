"""One log directory and what lies in it besides logs: its identity, its checkpoints, the marker of a clean stop."""
