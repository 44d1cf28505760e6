"""One log directory and what lies in it besides logs: its identity, its checkpoints, the marker of a clean stop.

Read `log_dir.py` first, then `meta_properties.py` (whose directory it is) and `shutdown_marker.py` (how the last
process ended). A broker may have several, one per disk; `manager/` holds them together.
"""
