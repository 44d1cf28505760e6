"""The cleaner's threads: each takes the dirtiest log, cleans it step by step, and rests when there is none.

`ask_owner(function)` runs a function on the thread that owns the logs and waits for its result: that is how a worker
picks a job, has a step swapped in, and reports the end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from tidelog.common.errors import KafkaError
from tidelog.log.cleaner.cleaner import LogCleaner
from tidelog.log.cleaner.job import CleanJob
from tidelog.log.cleaner.rewriter import CleaningAborted, Rewriter

logger = logging.getLogger(__name__)

AskOwner = Callable[[Callable[[], Any]], Any]


class CleanerThreads:
    def __init__(self, cleaner: LogCleaner, ask_owner: AskOwner) -> None:
        self._cleaner = cleaner
        self._ask_owner = ask_owner
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for number in range(self._cleaner.config.threads):
            thread = threading.Thread(target=self._work, name=f"log-cleaner-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def wake(self) -> None:
        """Look for dirty logs now rather than after the back-off."""
        self._wake.set()

    def stop(self, timeout: float | None = None) -> None:
        """Ask all threads to stop; jobs under way are aborted. Call it from another thread than the owner's loop."""
        self._stop.set()
        self._wake.set()
        for job in list(self._cleaner.jobs.values()):
            job.abort()
        for thread in self._threads:
            thread.join(timeout)
        self._threads.clear()

    def _work(self) -> None:
        rewriter = self._cleaner.new_rewriter()
        while not self._stop.is_set():
            job = self._ask(self._cleaner.pick)
            if job is None:
                self._wake.wait(self._cleaner.config.backoff_ms / 1000)
                self._wake.clear()
            else:
                self._clean(job, rewriter)

    def _clean(self, job: CleanJob, rewriter: Rewriter) -> None:
        try:
            while not job.finished:
                if self._stop.is_set():
                    job.abort()
                job.run(rewriter)
                self._ask_owner(job.apply)
        except (CleaningAborted, OSError, KafkaError) as error:
            failure = error
            self._ask(lambda: self._cleaner.failed(job, failure))
        else:
            self._ask(lambda: self._cleaner.done(job))

    def _ask(self, function: Callable[[], Any]) -> Any:
        try:
            return self._ask_owner(function)
        except RuntimeError:  # the owner's loop is closed: we are stopping
            self._stop.set()
            return None
