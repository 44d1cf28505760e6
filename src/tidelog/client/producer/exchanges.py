"""Exchanges: one Produce after the other on its way to a leader, and what its answer says of each batch.

The usual request is *posted*: compiled code makes its frame, it leaves together with the others of the same turn, and
the answer is read in place if it says that all is written (`_produce_frames`). That is nearly every request of a busy
producer. The others take the general way, through the protocol's own codec and with a task of their own: those that
are never answered (acks=0), those to a broker that wants to know again and again who we are (SASL with a life-time),
and versions that are not known in compiled code. Answers that say anything else than "written" are read in full.

A request that cannot be sent, or is not answered in time, ends as an error of its future: the batches in it come back
with that error, like those that the broker refuses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._produce_frames import NEWEST, OLDEST, encode, written
from tidelog.client.producer.delivery import Delivery
from tidelog.client.producer.produce_requests import outcomes, produce_request
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_OFFSET, NO_TIMESTAMP
from tidelog.net.node_client import NodeClient
from tidelog.protocol.api import ApiKey

logger = logging.getLogger("tidelog.client.producer")


class Outcome(NamedTuple):
    """What became of the batches of one request: (batch, offset, log append time) of those that were written, the
    errors of the others; and what was wrong with the exchange itself, which is then the error of all.
    """

    written: list[tuple[ProducerBatch, int, int]]
    failed: list[tuple[ProducerBatch, KafkaError]]
    error: KafkaError | None = None


class Exchange(NamedTuple):
    """A request that is under way, in that version of Produce."""

    node: NodeClient
    load: list[ProducerBatch]
    version: int
    answer: asyncio.Future[Any]

    def outcome(self) -> Outcome:
        """Once there is an answer. Whatever is in it, every batch gets an outcome: one without would be under way for
        ever.
        """
        try:
            return self._read()
        except Exception as error:  # whatever an answer holds is this exchange's failure
            logger.exception("an answer to Produce could not be read")
            text = f"the answer could not be read: {error}"
            return self._failed(KafkaError(ErrorCode.NETWORK_EXCEPTION, text))

    def _read(self) -> Outcome:
        error = _error_of(self.answer)
        if error is not None:
            return self._failed(error)
        response = self.answer.result()
        if response is None:  # acks=0: nobody answers
            return Outcome([(batch, NO_OFFSET, NO_TIMESTAMP) for batch in self.load], [])
        if isinstance(response, memoryview):
            plain = written(response, self.version, self.load)
            if plain is not None:
                return Outcome(plain, [])
            try:
                response = self.node.read(ApiKey.PRODUCE, self.version, response)
            except KafkaError as unreadable:
                return self._failed(unreadable)
        found = list(outcomes(self.load, response))
        return Outcome(
            [(batch, *each) for batch, each in found if not isinstance(each, KafkaError)],
            [(batch, each) for batch, each in found if isinstance(each, KafkaError)],
        )

    def _failed(self, error: KafkaError) -> Outcome:
        return Outcome([], [(batch, error) for batch in self.load], error)


class Exchanges:
    """How one producer sends its requests. `start` runs a coroutine in passing, as a task."""

    def __init__(self, delivery: Delivery, start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]) -> None:
        self._delivery = delivery
        self._start = start
        #: Connections with requests that leave with `push`.
        self._loaded: list[NodeClient] = []

    def begin(self, node: NodeClient, load: list[ProducerBatch], highest: int | None) -> Exchange:
        """Send batches that are sealed, or have them leave with the next `push`."""
        version = -1
        try:
            version = node.version_of(ApiKey.PRODUCE, highest)
            if self._delivery.acks and OLDEST <= version <= NEWEST and not node.must_renew:
                return Exchange(node, load, version, self._post(node, load, version))
        except KafkaError as error:
            failed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return Exchange(node, load, version, failed)
        delivery = self._delivery
        request = produce_request(
            load, transactional_id=delivery.transactional_id, acks=delivery.acks, timeout_ms=delivery.request_timeout_ms
        )
        answer = self._start(node.send(request, highest=highest, answered=delivery.acks != 0))
        return Exchange(node, load, version, answer)

    def _post(self, node: NodeClient, load: list[ProducerBatch], version: int) -> asyncio.Future[memoryview]:
        name, acks, timeout_ms = self._delivery.transactional_id, self._delivery.acks, self._delivery.request_timeout_ms
        answer = node.post(
            ApiKey.PRODUCE,
            lambda correlation_id, client_id: encode(load, version, correlation_id, client_id, name, acks, timeout_ms),
        )
        if node not in self._loaded:
            self._loaded.append(node)
        return answer

    def push(self) -> None:
        """Let what was posted leave. Large requests are written without the GIL."""
        loaded, self._loaded = self._loaded, []
        for node in loaded:
            node.push()


def _error_of(answer: asyncio.Future[Any]) -> KafkaError | None:
    """What went wrong, as a KafkaError: anything else is the end of a connection, too."""
    if answer.cancelled():
        return KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed")
    error = answer.exception()
    if error is None or isinstance(error, KafkaError):
        return error
    return KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error))
