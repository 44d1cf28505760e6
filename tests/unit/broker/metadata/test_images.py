"""Images are plain values."""

from __future__ import annotations

from tidelog.broker.metadata.images import PartitionState, TopicImage


def test_images_print_their_partition():
    image = TopicImage("t", bytes(16), [PartitionState("t", 0, bytes(16), 1, 3, (1, 2, 3), (1, 2, 3), 1, 7)], False)
    assert str(image.partitions[0].tp) == "t-0"
