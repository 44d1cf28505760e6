"""Topics page by page."""

from __future__ import annotations

from support.admin_requests import (
    create,
)
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_topic_partitions_page_by_page(ask):
    create(ask, "page-a", 3)
    create(ask, "page-b", 2)
    Topic = m.DescribeTopicPartitionsRequest.TopicRequest
    wanted = [Topic(name="page-a"), Topic(name="page-b"), Topic(name="page-none")]
    seen, cursor = [], None
    for _ in range(6):
        answer = ask(m.DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=2, cursor=cursor))
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        if answer.next_cursor is None:
            break
        cursor = m.DescribeTopicPartitionsRequest.Cursor(
            topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
        )
    assert seen == [("page-a", 0), ("page-a", 1), ("page-a", 2), ("page-b", 0), ("page-b", 1)]
    assert answer.topics[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
