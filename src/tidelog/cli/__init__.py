"""The one `tidelog` command.

`main.py` holds the table of sub-commands; each lives in its own module and is imported only when it is used, because
start-up time is part of the product. `output.py` is how every command prints: tables and colours on a terminal, plain
columns in a pipe, one JSON object per line under `--json`. Exit status: 0 done, 1 it failed or found something wrong,
2 it was called wrongly.
"""
