"""The cluster as a whole."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_the_cluster_is_described(ask, broker):
    answer = ask(m.DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert answer.cluster_id == broker.server.metadata.cluster_id
    assert [(b.broker_id, b.host, b.port) for b in answer.brokers] == [(1, "127.0.0.1", broker.port)]
    assert answer.controller_id == 1
    assert answer.cluster_authorized_operations == 8096
    assert ask(m.DescribeClusterRequest(endpoint_type=2)).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_quorum_features_and_registration(ask):
    topic = m.DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata", partitions=[m.DescribeQuorumRequest.PartitionData(partition_index=0)]
    )
    quorum = ask(m.DescribeQuorumRequest(topics=[topic])).topics[0].partitions[0]
    assert (quorum.error_code, quorum.leader_id, [v.replica_id for v in quorum.current_voters]) == (0, 1, [1])
    assert ask(m.UnregisterBrokerRequest(broker_id=7)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    update = m.UpdateFeaturesRequest.FeatureUpdateKey(feature="metadata.version", max_version_level=99)
    assert ask(m.UpdateFeaturesRequest(feature_updates=[update])).error_code == ErrorCode.INVALID_UPDATE_VERSION
