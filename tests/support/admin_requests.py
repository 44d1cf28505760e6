"""Requests of administrators, one at a time, through whatever `ask` asks with."""

from __future__ import annotations

from tidelog.protocol import messages as m

CONFIG_TOPIC, CONFIG_BROKER, CONFIG_LOGGER, CONFIG_METRICS, CONFIG_GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def create(ask, name, partitions=1, factor=1, *, version=None, validate_only=False, configs=(), assignments=()):
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[m.CreateTopicsRequest.CreatableTopicConfig(name=k, value=v) for k, v in configs],
        assignments=[
            m.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=i, broker_ids=b) for i, b in assignments
        ],
    )
    return ask(m.CreateTopicsRequest(topics=[topic], validate_only=validate_only), version).topics[0]


def metadata(ask, *names, version=None, create=False):
    topics = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return ask(m.MetadataRequest(topics=topics, allow_auto_topic_creation=create), version)


def describe(ask, kind, name, keys=None):
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    return ask(
        m.DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    ).results[0]


def alter(ask, kind, name, *changes, validate_only=False):
    configs = [
        m.IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=op, value=value)
        for key, op, value in changes
    ]
    resource = m.IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = m.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    return ask(request).responses[0]


def value_of(result, name):
    return next(entry for entry in result.configs if entry.name == name)
