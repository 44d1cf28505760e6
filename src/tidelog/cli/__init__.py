"""The one `tidelog` command.

`main.py` holds the table of sub-commands; each lives in its own module and is imported only when it is used, because
start-up time is part of the product. `output.py` is how every command prints: tables and colours on a terminal, plain
columns in a pipe, one JSON object per line under `--json`. Exit status: 0 done, 1 it failed or found something wrong,
2 it was called wrongly.

Reading order: `main` (the table, errors to exit status), `output` (tables, JSON, progress), `connection` (how a command
reaches a cluster), then any command:

    serve                        a broker; the only one that must start fast, and so the only one without click
    topics, produce, consume     against any cluster, over the client's core; `line_producer`, `record_text`,
                                 `input_lines` are the parts of `produce`
    log_group, log_*             offline, on log directories: dump, verify, stat, reindex, compact; `log_paths`: what
                                 a PATH may be, `log_files` and `log_decode` what is in the small files and records

What every command keeps to: results go to standard output and words for people to standard error, so that a pipe gets
results only; `--json` prints one object per line, of the same fields whatever the terminal; a mistake is answered with
what to do instead, in one line, and never with a traceback; Ctrl-C ends at once with status 130. Nothing asks for
confirmation: a script would hang.
"""
