"""Access control lists: who may do what, on what, from where.

A binding says it for one principal (`User:alice`; `User:*` is everybody), one operation and one resource, by its full
name or by a prefix. A filter finds bindings: what it leaves open matches anything.

    admin.create_acls([AclBinding("User:alice", AclOperation.READ, ResourceType.TOPIC, "orders")])
    admin.describe_acls(AclFilter(principal="User:alice"))

What a client must be allowed, by what it does:

    produce            WRITE on the topic; for transactions also WRITE on the TRANSACTIONAL_ID
    consume            READ on the topic; in a group also READ on the GROUP
    create a topic     CREATE on the topic, or on the CLUSTER
    delete, alter it   DELETE, ALTER on the topic
    configs            DESCRIBE_CONFIGS, ALTER_CONFIGS on the topic, or on the CLUSTER for brokers
    the rest of Admin  DESCRIBE or ALTER on the CLUSTER, mostly

READ, WRITE, DELETE and ALTER imply DESCRIBE; ALTER_CONFIGS implies DESCRIBE_CONFIGS. A denial that matches goes before
every permission. Without any binding for a resource, `allow.everyone.if.no.acl.found` decides; super users are never
asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.client.admin.acl_types import AclOperation, AclPermission, PatternType, ResourceType
from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import ANYBODY, CONTROLLER
from tidelog.common.errors import KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol import messages

#: The name of the one resource of type CLUSTER.
CLUSTER_NAME = "kafka-cluster"


class AclBinding(NamedTuple):
    """A permission, or a denial. As names go, `*` is every resource of the type, and `CLUSTER_NAME` the one cluster; as
    hosts go, `*` is everywhere, and anything else an address (no range, no name).
    """

    principal: str
    operation: AclOperation
    resource: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL
    host: str = "*"
    permission: AclPermission = AclPermission.ALLOW


class AclFilter(NamedTuple):
    """Which bindings are meant: those that agree in everything that is not left open."""

    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    resource: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    host: str | None = None
    permission: AclPermission = AclPermission.ANY


class AclAdmin(AdminBase):
    """The part of the Admin that is about access control."""

    async def describe_acls(
        self, matching: AclFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """All bindings that match; without a filter, all that there are."""
        matching = AclFilter() if matching is None else matching
        request = messages.DescribeAclsRequest(
            resource_type_filter=int(matching.resource),
            resource_name_filter=matching.name,
            pattern_type_filter=int(matching.pattern),
            principal_filter=matching.principal,
            host_filter=matching.host,
            operation=int(matching.operation),
            permission_type=int(matching.permission),
        )

        def read(response: Any) -> list[AclBinding]:
            check(response.error_code, response.error_message, "describing ACLs")
            return [_binding(resource, acl) for resource in response.resources for acl in resource.acls]

        return await self._call(timeout).one(ANYBODY, request, read)

    async def create_acls(
        self, bindings: Iterable[AclBinding], *, timeout: float | None = None
    ) -> Outcomes[AclBinding, None]:
        """Create bindings; one that is there already is no error.

        Brokers hear of it one by one: for a moment, some still refuse what is allowed now.
        """

        def ask(keys: list[AclBinding]) -> messages.CreateAclsRequest:
            creations = [
                messages.CreateAclsRequest.AclCreation(
                    resource_type=int(key.resource),
                    resource_name=key.name,
                    resource_pattern_type=int(key.pattern),
                    principal=key.principal,
                    host=key.host,
                    operation=int(key.operation),
                    permission_type=int(key.permission),
                )
                for key in keys
            ]
            return messages.CreateAclsRequest(creations=creations)

        def read(response: Any, keys: list[AclBinding]) -> Answers[AclBinding, None]:
            for key, each in zip(keys, response.results, strict=False):
                yield key, outcome(None, each.error_code, each.error_message)

        return await self._call(timeout).each(bindings, CONTROLLER, ask, read)

    async def delete_acls(
        self, filters: Iterable[AclFilter], *, timeout: float | None = None
    ) -> Outcomes[AclFilter, Outcomes[AclBinding, None]]:
        """Delete what matches each filter; the outcome of a filter has what came of each binding that it found."""

        def ask(keys: list[AclFilter]) -> messages.DeleteAclsRequest:
            asked = [
                messages.DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=int(key.resource),
                    resource_name_filter=key.name,
                    pattern_type_filter=int(key.pattern),
                    principal_filter=key.principal,
                    host_filter=key.host,
                    operation=int(key.operation),
                    permission_type=int(key.permission),
                )
                for key in keys
            ]
            return messages.DeleteAclsRequest(filters=asked)

        def read(response: Any, keys: list[AclFilter]) -> Answers[AclFilter, Outcomes[AclBinding, None]]:
            for key, each in zip(keys, response.filter_results, strict=False):
                found: dict[AclBinding, KafkaError | None] = {
                    _binding(acl, acl): outcome(None, acl.error_code, acl.error_message) for acl in each.matching_acls
                }
                gone: Outcomes[AclBinding, None] = Outcomes(found)
                yield key, failure(each.error_code, each.error_message) if each.error_code else gone

        return await self._call(timeout).each(filters, CONTROLLER, ask, read)


def _binding(resource: Any, acl: Any) -> AclBinding:
    """From an answer. DescribeAcls names a resource once, with its entries below; DeleteAcls has all in one place."""
    return AclBinding(
        acl.principal,
        AclOperation(acl.operation),
        ResourceType(resource.resource_type),
        resource.resource_name,
        PatternType(resource.pattern_type),
        acl.host,
        AclPermission(acl.permission_type),
    )
