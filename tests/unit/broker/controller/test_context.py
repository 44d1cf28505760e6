"""What the controller knows, by itself."""

from __future__ import annotations

from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.metadata.images import PartitionState, TopicImage


def topic(name: str, partitions: int) -> TopicImage:
    topic_id = name.encode().ljust(16)
    states = [PartitionState(name, n, topic_id, 1, 0, (1,), (1,)) for n in range(partitions)]
    return TopicImage(name, topic_id, states, internal=False)


def test_new_states_of_several_partitions_are_one_new_image_of_each_topic() -> None:
    context = ControllerContext()
    before = [topic("a", 3), topic("b", 2), topic("c", 1)]
    context.put(before)
    states = [
        image.partitions[n]._replace(leader_epoch=7) for image, n in [(before[0], 2), (before[1], 0), (before[0], 0)]
    ]
    images = context.put_states(states)
    assert [image.name for image in images] == ["a", "b"]
    assert [[s.leader_epoch for s in context.topics[name].partitions] for name in "abc"] == [[7, 0, 7], [7, 0], [0]]
    assert [s.leader_epoch for s in before[0].partitions] == [0, 0, 0], "who holds the old image can go on reading it"
