"""The broker's own log: one line per event on standard error, as text or as JSON; levels change while it runs.

Level names are Kafka's (FATAL, WARN, TRACE beside Python's own); logger names are module paths (`tidelog.broker.…`),
plus `root` for all. AlterConfigs on a broker-logger resource ends here.
"""

from __future__ import annotations

import json
import logging
import sys

from tidelog.common.errors import ErrorCode, KafkaError

ROOT = "root"
LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
}
_NAMES = {value: name for name, value in LEVELS.items()}
#: Fields of every LogRecord: what is not among them was given as `extra` and belongs into the JSON line.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class TextFormatter(logging.Formatter):
    """`2026-01-31 12:00:00,123 INFO  tidelog.broker.server: text`"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-5s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        record.levelname = level_name(record.levelno)
        return super().format(record)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, what was given as `extra`, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": int(record.created * 1000),
            "level": level_name(record.levelno),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(level: str, form: str) -> None:
    """Set up the process's logging: for `tidelog serve`; a broker inside another program leaves that to the program."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    logging.captureWarnings(True)


def level_name(level: int) -> str:
    """The name of the nearest level that is not above this one."""
    return _NAMES[max((value for value in _NAMES if value <= level), default=min(_NAMES))]


def loggers() -> dict[str, str]:
    """Every logger of ours and its level in force."""
    found = {ROOT: level_name(logging.getLogger().level)}
    for name in sorted(logging.root.manager.loggerDict):
        if name == "tidelog" or name.startswith("tidelog."):
            found[name] = level_name(logging.getLogger(name).getEffectiveLevel())
    return found


def check_level(name: str, level: str) -> None:
    """What IncrementalAlterConfigs checks before it sets any."""
    if name not in loggers():
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level not in LEVELS:
        allowed = ", ".join(sorted(LEVELS))
        text = f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
        raise KafkaError(ErrorCode.INVALID_CONFIG, text + f"Valid log levels are {allowed}")


def set_level(name: str, level: str | None) -> None:
    """Set a logger's level; None lets it follow its parent again (the root: INFO)."""
    if name == ROOT:
        logging.getLogger().setLevel(LEVELS[level or "INFO"])
    else:
        logging.getLogger(name).setLevel(LEVELS[level] if level is not None else logging.NOTSET)
