"""What every subject of the Admin stands on: a cluster, and a limit of time for each call."""

from __future__ import annotations

from tidelog.client.admin.call import Call, CallCounters
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import admin as keys
from tidelog.client.config import common
from tidelog.client.durations import seconds


class AdminBase:
    """The part that the subjects share. They are classes of their own, one per file, and `aio.Admin` is all of them:
    each method is written once, as a coroutine, and the blocking Admin is derived from it.
    """

    _cluster: ClusterClient
    _counters: CallCounters

    def _call(self, timeout: float | None) -> Call:
        """A call that begins now; `timeout` in seconds, else `default.api.timeout.ms`.

        A method that makes several requests for one answer makes them with one call, so that the limit holds for all.
        """
        config = self._cluster.config
        given = seconds(timeout)
        limit = config[common.DEFAULT_API_TIMEOUT_MS] / 1000 if given is None else given
        return Call(self._cluster, limit, config[keys.RETRIES], self._counters)
