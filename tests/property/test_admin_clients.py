"""Several administrators at once against a model: whatever was acknowledged is there, and nothing else.

Each step sends some requests at the same time, on connections of their own. Changes follow one another in an order that
nobody knows, so the model takes the answers: they must be possible in some order, and the state in the end must be the
one that such an order leads to. A restart in between must find it again.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from support.admin_model import CLIENTS, KEYS, NAMES, Topics, code_of, possible, request_of
from tidelog.broker.server import Broker
from tidelog.net.node_client import NodeClient

actions = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(NAMES), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("grow"), st.sampled_from(NAMES), st.integers(1, 5)),
    st.tuples(st.just("set"), st.sampled_from(NAMES), st.sampled_from(KEYS)),
    st.tuples(st.just("unset"), st.sampled_from(NAMES), st.sampled_from(KEYS)),
)


class AdminClients(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.path = Path(tempfile.mkdtemp())
        self.topics: Topics = {}
        self.runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self.runner.run(self._start())

    async def _start(self) -> None:
        values = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(self.path)}
        self.broker = Broker(values)
        await self.broker.start()
        port = self.broker.endpoints[0].port
        self.nodes = [await NodeClient.connect("127.0.0.1", port) for _ in range(CLIENTS)]

    async def _stop(self) -> None:
        for node in self.nodes:
            await node.close()
        await self.broker.stop()

    @rule(chosen=st.lists(actions, min_size=1, max_size=CLIENTS))
    def at_once(self, chosen: list[tuple[str, str, Any]]) -> None:
        async def send() -> list[Any]:
            sent = [node.send(request_of(action)) for node, action in zip(self.nodes, chosen, strict=False)]
            return await asyncio.gather(*sent)

        codes = [code_of(action[0], answer) for action, answer in zip(chosen, self.runner.run(send()), strict=True)]
        ends = possible(self.topics, chosen, codes)
        assert ends, f"{chosen} cannot be answered {codes} from {self.topics}"
        now = self._seen()
        assert now in ends, f"{now} is none of {ends}"
        self.topics = now

    @rule()
    def restart(self) -> None:
        self.runner.run(self._stop())
        self.runner.run(self._start())

    def _seen(self) -> Topics:
        broker = self.broker
        return {
            name: (len(image.partitions), dict(broker.configs.overrides(name)))
            for name, image in broker.metadata.topics.items()
        }

    @invariant()
    def store_and_logs_agree(self) -> None:
        if not hasattr(self, "broker"):
            return
        broker = self.broker
        assert self._seen() == self.topics
        assert broker.failure is None
        assert broker._own_store is not None
        tree = broker._own_store.tree.nodes
        for root in ("/brokers/topics", "/config/topics"):
            assert tree[root].children == set(self.topics)
        assert not tree["/admin/delete_topics"].children
        hosted = {(tp.topic, tp.partition) for tp in broker.log_manager.logs}
        assert hosted == {(name, number) for name, (count, _) in self.topics.items() for number in range(count)}
        for tp, log in broker.log_manager.logs.items():
            assert log.topic_id == broker.metadata.topic_id(tp.topic)
            assert log.config is broker.configs.log_config(tp.topic)

    def teardown(self) -> None:
        if hasattr(self, "broker"):
            self.runner.run(self._stop())
            self.runner.close()
            shutil.rmtree(self.path)


TestAdminClients = AdminClients.TestCase
TestAdminClients.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.soak
class TestForLong(AdminClients.TestCase):
    settings = settings(
        max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
    )
