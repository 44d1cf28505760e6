"""One call: whom it asks, what it asks again, and when it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.fake_broker import FakeBroker, HangUp
from support.loop import until
from tidelog.admin import (
    AclBinding,
    AclOperation,
    ConfigResource,
    ConfigType,
    GroupType,
    NewTopic,
    OffsetSpec,
    PartialError,
    ResourceType,
)
from tidelog.client.admin.aio import Admin
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition as TP
from tidelog.net.stages import ConnectError, Stage
from tidelog.protocol import messages
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader

Handler = Callable[[Any], Any]


class Cluster(FakeBroker):
    """One broker (or two addresses of it) that answers each API by a function; metadata and coordinators by itself."""

    def __init__(self, handlers: dict[ApiKey, Handler], versions: dict[int, tuple[int, int]] | None = None) -> None:
        super().__init__(self._handle, versions)
        self.handlers = handlers
        self.controller = 1
        self.coordinator_error = 0
        self.dead: list[tuple[int, int]] = []

    def asked(self, key: ApiKey) -> list[Any]:
        return [request for header, request in self.seen if header.api_key == key]

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        handler = self.handlers.get(header.api_key)
        if handler is not None:
            return handler(request)
        if header.api_key == ApiKey.METADATA:
            return self.metadata([topic.name for topic in request.topics or []])
        if header.api_key == ApiKey.FIND_COORDINATOR:
            return self._coordinator(request)
        raise AssertionError(header)

    def metadata(self, names: list[str]) -> Any:
        Response = messages.MetadataResponse
        nodes = [(1, self.port), *self.dead]
        Partition = Response.MetadataResponsePartition
        return Response(
            brokers=[Response.MetadataResponseBroker(node_id=n, host="127.0.0.1", port=port) for n, port in nodes],
            controller_id=self.controller,
            topics=[
                Response.MetadataResponseTopic(name=name, partitions=[Partition(partition_index=0, leader_id=1)])
                for name in names
            ],
        )

    def _coordinator(self, request: Any) -> Any:
        error, self.coordinator_error = self.coordinator_error, 0
        return messages.FindCoordinatorResponse(
            error_code=error, node_id=1, host="127.0.0.1", port=self.port, coordinators=[]
        )


def run(cluster: Cluster, scenario: Callable[[Admin], Awaitable[None]], **keywords: object) -> None:
    async def bounded() -> None:
        async with cluster:
            settings = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **keywords}
            async with Admin(bootstrap_servers=cluster.address, **settings) as admin:
                await asyncio.wait_for(scenario(admin), 60)

    asyncio.run(bounded())


def deletions(*codes: int) -> Handler:
    """Answers DeleteTopics: these codes to everything, one request after the other; then success."""
    rest = list(codes)

    def answer(request: Any) -> Any:
        code = rest.pop(0) if rest else 0
        Result = messages.DeleteTopicsResponse.DeletableTopicResult
        return messages.DeleteTopicsResponse(
            responses=[Result(name=name, error_code=code) for name in request.topic_names]
        )

    return answer


@pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.create_topics("zed"),
        lambda admin: admin.create_topics(NewTopic("zed")),
        lambda admin: admin.delete_topics("zed"),
        lambda admin: admin.delete_topics(["zed"], ids="zed"),
        lambda admin: admin.describe_topics("zed"),
        lambda admin: admin.describe_topics(ids="zed"),
        lambda admin: admin.describe_configs("zed"),
        lambda admin: admin.describe_configs(ConfigResource.topic("zed")),
        lambda admin: admin.describe_configs({ConfigResource.topic("zed"): "retention.ms"}),
        lambda admin: admin.describe_consumer_groups("zed"),
        lambda admin: admin.delete_consumer_groups("zed"),
        lambda admin: admin.list_groups(states="Stable"),
        lambda admin: admin.list_consumer_group_offsets("zed"),
        lambda admin: admin.delete_consumer_group_offsets("zed", TP("zed", 0)),
        lambda admin: admin.remove_members_from_consumer_group("zed", instance_ids="one"),
        lambda admin: admin.end_offsets(TP("zed", 0)),
        lambda admin: admin.beginning_offsets("zed"),
        lambda admin: admin.elect_leaders("preferred", "zed"),
        lambda admin: admin.list_partition_reassignments("zed"),
        lambda admin: admin.describe_transactions("zed"),
        lambda admin: admin.fence_producers("zed"),
        lambda admin: admin.describe_user_scram_credentials("zed"),
        lambda admin: admin.create_delegation_token(renewers="User:zed"),
        lambda admin: admin.describe_log_dirs("12"),
    ],
)
def test_one_item_is_not_taken_for_a_list(call: Callable[[Any], Awaitable[Any]]) -> None:
    """A text would be gone through by its letters, and each would be a topic of its own."""
    cluster = Cluster({})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(UsageError, match=r"takes a list of items, here of one: \["):
            await call(admin)
        assert not {header.api_key for header, _ in cluster.seen} - {ApiKey.API_VERSIONS, ApiKey.METADATA}

    run(cluster, scenario)


def test_a_resource_is_no_name() -> None:
    async def scenario(admin: Admin) -> None:
        with pytest.raises(UsageError, match=r"expected a ConfigResource, as ConfigResource\.topic\('orders'\)"):
            await admin.describe_config("orders")  # type: ignore[arg-type] # a mistake that users make

    run(Cluster({}), scenario)


def test_another_controller_is_looked_for() -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: deletions(ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER)})

    async def scenario(admin: Admin) -> None:
        assert (await admin.delete_topics(["a", "b"])).result() == {"a": None, "b": None}
        assert len(cluster.asked(ApiKey.METADATA)) == 3
        metrics = await admin.metrics()
        assert (metrics["request-total"], metrics["retry-total"], metrics["error-total"]) == (3, 2, 0)

    run(cluster, scenario)


@pytest.mark.parametrize("retry", [True, False])
def test_a_quota_is_waited_out_unless_the_caller_would_rather_know(retry: bool) -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: deletions(ErrorCode.THROTTLING_QUOTA_EXCEEDED)})

    async def scenario(admin: Admin) -> None:
        found = await admin.delete_topics(["a"], retry_on_quota_violation=retry)
        assert (found["a"] is None) == retry

    run(cluster, scenario)


def test_only_what_may_succeed_is_asked_again() -> None:
    rounds: list[list[str]] = []

    def answer(request: Any) -> Any:
        rounds.append(list(request.groups_names))
        codes = {"moved": ErrorCode.NOT_COORDINATOR if len(rounds) == 1 else 0, "full": ErrorCode.NON_EMPTY_GROUP}
        Result = messages.DeleteGroupsResponse.DeletableGroupResult
        return messages.DeleteGroupsResponse(
            results=[Result(group_id=name, error_code=codes.get(name, 0)) for name in request.groups_names]
        )

    cluster = Cluster({ApiKey.DELETE_GROUPS: answer})

    async def scenario(admin: Admin) -> None:
        cluster.coordinator_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        found = await admin.delete_consumer_groups(["fine", "full", "moved"])
        assert list(found) == ["fine", "full", "moved"]
        assert list(found.failed) == ["full"]
        assert sorted(name for names in rounds for name in names) == ["fine", "full", "moved", "moved"]

    run(cluster, scenario)


def test_the_time_ends_what_would_go_on_for_ever() -> None:
    codes = [int(ErrorCode.NOT_CONTROLLER)] * 10_000
    cluster = Cluster({ApiKey.DELETE_TOPICS: deletions(*codes)})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(KafkaError, match=r"given up after \d+ tries") as raised:
            await admin.delete_topic("a", timeout=0.1)
        assert raised.value.code is ErrorCode.NOT_CONTROLLER

    run(cluster, scenario)


def test_who_may_make_topics_but_not_see_them_does_not_wait_for_a_sight() -> None:
    def created(request: Any) -> Any:
        Result = messages.CreateTopicsResponse.CreatableTopicResult
        return messages.CreateTopicsResponse(topics=[Result(name=topic.name) for topic in request.topics])

    def hidden(request: Any) -> Any:
        answer = cluster.metadata([topic.name for topic in request.topics or []])
        for topic in answer.topics:
            topic.error_code, topic.partitions = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), []
        return answer

    cluster = Cluster({ApiKey.CREATE_TOPICS: created, ApiKey.METADATA: hidden})

    async def scenario(admin: Admin) -> None:
        assert (await admin.create_topics(["a"], timeout=30)).ok.keys() == {"a"}
        assert len([asked for asked in cluster.asked(ApiKey.METADATA) if asked.topics]) == 1

    run(cluster, scenario)


def test_who_was_never_reached_still_says_at_which_stage() -> None:
    async def main() -> None:
        async with Admin(bootstrap_servers="127.0.0.1:1", retry_backoff_ms=1) as admin:
            with pytest.raises(ConnectError, match=r"given up after \d+ tries") as raised:
                await admin.topics(timeout=0.3)
            assert raised.value.stage is Stage.TCP
            assert raised.value.retriable

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("closed", ["before", "meanwhile"])
def test_a_closed_admin_asks_nobody_again(closed: str) -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: lambda request: None})

    async def scenario(admin: Admin) -> None:
        if closed == "meanwhile":
            asking = asyncio.create_task(admin.delete_topic("a"))
            await until(lambda: cluster.asked(ApiKey.DELETE_TOPICS))
        await admin.close()
        with pytest.raises(KafkaError, match="the client is closed"):
            await (asking if closed == "meanwhile" else admin.delete_topic("a"))

    run(cluster, scenario)


def test_retries_end_it_as_well() -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: deletions(*[int(ErrorCode.NOT_CONTROLLER)] * 9)})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(KafkaError, match="given up after 3 tries"):
            await admin.delete_topic("a")
        assert len(cluster.asked(ApiKey.DELETE_TOPICS)) == 3

    run(cluster, scenario, retries=2)


def test_silence_is_not_waited_for_longer_than_the_call_may_take() -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: lambda request: None})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(KafkaError, match=r"no answer within 0\.1 s; timeout= or default\.api\.timeout\.ms"):
            await admin.delete_topic("a", timeout=0.1)
        cluster.handlers[ApiKey.DELETE_TOPICS] = deletions()

    run(cluster, scenario)


def test_a_connection_that_breaks_is_made_anew() -> None:
    hang_ups = [HangUp, HangUp]

    def answer(request: Any) -> Any:
        if hang_ups:
            raise hang_ups.pop()
        return deletions()(request)

    cluster = Cluster({ApiKey.DELETE_TOPICS: answer})

    async def scenario(admin: Admin) -> None:
        await admin.delete_topic("a")
        assert len(cluster.asked(ApiKey.DELETE_TOPICS)) == 3

    run(cluster, scenario, reconnect_backoff_ms=1)


def test_an_item_that_the_answer_forgets_is_an_error() -> None:
    cluster = Cluster({ApiKey.DELETE_TOPICS: lambda request: messages.DeleteTopicsResponse(responses=[])})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(KafkaError, match="does not mention it"):
            await admin.delete_topic("a")

    run(cluster, scenario)


def test_a_leader_that_moved_is_looked_up_anew() -> None:
    codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]

    def answer(request: Any) -> Any:
        Response = messages.ListOffsetsResponse
        entry = Response.ListOffsetsPartitionResponse(partition_index=0, error_code=codes.pop(0), offset=7)
        return Response(topics=[Response.ListOffsetsTopicResponse(name="t", partitions=[entry])])

    cluster = Cluster({ApiKey.LIST_OFFSETS: answer})

    async def scenario(admin: Admin) -> None:
        assert await admin.end_offsets([TP("t", 0)]) == {TP("t", 0): 7}
        assert len(cluster.asked(ApiKey.METADATA)) == 2

    run(cluster, scenario)


def test_a_question_that_the_broker_would_misunderstand_is_not_asked() -> None:
    versions = {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (0, 9), ApiKey.LIST_OFFSETS: (0, 6)}
    cluster = Cluster({}, {int(key): value for key, value in versions.items()})

    async def scenario(admin: Admin) -> None:
        found = await admin.list_offsets({TP("t", 0): OffsetSpec.MAX_TIMESTAMP})
        with pytest.raises(KafkaError, match="this takes version 7; this cluster is too old for it"):
            found.result()
        with pytest.raises(KafkaError, match="does not serve CreateAcls; this cluster is too old"):
            (await admin.create_acls([AclBinding("User:a", AclOperation.READ, ResourceType.TOPIC, "t")])).result()

    run(cluster, scenario)


def test_what_other_brokers_say_is_kept() -> None:
    def groups(request: Any) -> Any:
        return messages.ListGroupsResponse(groups=[messages.ListGroupsResponse.ListedGroup(group_id="g")])

    cluster = Cluster({ApiKey.LIST_GROUPS: groups})
    cluster.dead = [(2, 1)]  # nobody listens at port 1

    async def scenario(admin: Admin) -> None:
        with pytest.raises(PartialError) as raised:
            await admin.list_groups(timeout=1)
        assert [name for name, _ in raised.value.found] == ["g"]
        assert list(raised.value.failed) == [2]

    run(cluster, scenario, reconnect_backoff_ms=1)


def test_nobody_who_answers_is_no_part() -> None:
    versions = {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (0, 9), ApiKey.LIST_GROUPS: (0, 3)}
    cluster = Cluster({}, {int(key): value for key, value in versions.items()})

    async def scenario(admin: Admin) -> None:
        with pytest.raises(KafkaError) as raised:
            await admin.list_groups(types=[GroupType.SHARE])
        assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION
        assert not isinstance(raised.value, PartialError)

    run(cluster, scenario)


def test_each_leader_and_coordinator_is_asked_for_its_own() -> None:
    asked: dict[str, list[list[str]]] = {"first": [], "second": []}

    def offsets(who: str) -> Handler:
        def answer(request: Any) -> Any:
            Response = messages.ListOffsetsResponse
            asked[who].append([topic.name for topic in request.topics])
            entry = Response.ListOffsetsPartitionResponse(partition_index=0, offset=1 if who == "first" else 2)
            return Response(
                topics=[Response.ListOffsetsTopicResponse(name=t.name, partitions=[entry]) for t in request.topics]
            )

        return answer

    first, second = Cluster({ApiKey.LIST_OFFSETS: offsets("first")}), Cluster({ApiKey.LIST_OFFSETS: offsets("second")})

    def metadata(request: Any) -> Any:
        found = Cluster.metadata(first, [topic.name for topic in request.topics])
        for topic in found.topics:
            topic.partitions[0].leader_id = 1 if topic.name < "m" else 2
        return found

    first.handlers[ApiKey.METADATA] = second.handlers[ApiKey.METADATA] = metadata

    async def scenario(admin: Admin) -> None:
        async with second:
            first.dead = [(2, second.port)]
            wanted = [TP(name, 0) for name in ("a", "z", "b", "y")]
            assert await admin.end_offsets(wanted) == dict(zip(wanted, (1, 2, 1, 2), strict=True))
            assert asked == {"first": [["a", "b"]], "second": [["z", "y"]]}
            await admin.close()

    run(first, scenario)


def test_new_topics_are_waited_for() -> None:
    looks: list[list[str]] = []

    def create(request: Any) -> Any:
        Result = messages.CreateTopicsResponse.CreatableTopicResult
        made = [Result(name=topic.name, num_partitions=1, replication_factor=1) for topic in request.topics]
        return messages.CreateTopicsResponse(topics=made)

    def metadata(request: Any) -> Any:
        names = [topic.name for topic in request.topics]
        looks.append(names)
        found = cluster.metadata(names)
        if len(looks) < 4:
            for topic in found.topics:
                topic.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return found

    cluster = Cluster({ApiKey.CREATE_TOPICS: create, ApiKey.METADATA: metadata})

    async def scenario(admin: Admin) -> None:
        assert list((await admin.create_topics([NewTopic("a"), "b"])).result()) == ["a", "b"]
        assert looks[-1] == ["a", "b"]

    run(cluster, scenario)


def test_a_broker_has_a_number() -> None:
    async def scenario(admin: Admin) -> None:
        with pytest.raises(UsageError, match=r"ConfigResource\.broker\(1\) makes one"):
            await admin.describe_config(ConfigResource(ConfigType.BROKER, "one"))

    run(Cluster({}), scenario)


def test_configs_of_a_broker_are_asked_of_it() -> None:
    def configs(request: Any) -> Any:
        Result = messages.DescribeConfigsResponse.DescribeConfigsResult
        return messages.DescribeConfigsResponse(
            results=[Result(resource_type=r.resource_type, resource_name=r.resource_name) for r in request.resources]
        )

    cluster = Cluster({ApiKey.DESCRIBE_CONFIGS: configs})

    async def scenario(admin: Admin) -> None:
        wanted = [
            ConfigResource.broker(1),
            ConfigResource.broker(),
            ConfigResource.topic("t"),
            ConfigResource.broker(9),
        ]
        found = await admin.describe_configs(wanted)
        assert list(found) == wanted
        assert list(found.failed) == [ConfigResource.broker(9)]

    run(cluster, scenario)


def test_the_id_of_a_client_is_asked_for_once() -> None:
    def subscription(request: Any) -> Any:
        return messages.GetTelemetrySubscriptionsResponse(client_instance_id=b"i" * 16)

    cluster = Cluster({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: subscription})

    async def scenario(admin: Admin) -> None:
        assert await admin.client_instance_id() == await admin.client_instance_id() == "aWlpaWlpaWlpaWlpaWlpaQ"
        assert len(cluster.asked(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)) == 1

    run(cluster, scenario)
