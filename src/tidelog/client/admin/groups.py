"""Groups of any type: list, delete, and make members leave.

Each broker lists the groups that it coordinates, so all are asked. Everything else is the coordinator's of each group:
the broker that leads the partition of `__consumer_offsets` which the group's id falls into.

A group comes into being with its first member, or its first offset; nobody creates it. It is gone when it is deleted,
or when it has neither members nor offsets any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.group_values import GroupListing, GroupState, GroupType
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import GROUP, At
from tidelog.client.admin.shapes import items
from tidelog.protocol import messages

#: From this version on, LeaveGroup names several members, also by their instance ids.
_FIRST_LEAVE_MANY = 3
_REASON = "member was removed by an admin"


class GroupAdmin(AdminBase):
    """The part of the Admin that is about groups of all types."""

    async def groups(self, *, timeout: float | None = None) -> list[str]:
        """The names of all groups that we may see."""
        return sorted(await self.list_groups(timeout=timeout))

    async def list_groups(
        self,
        *,
        states: Iterable[GroupState] = (),
        types: Iterable[GroupType] = (),
        protocol_types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> dict[str, GroupListing]:
        """All groups by id, or those in one of these states (Kafka 2.6 on), of these types (3.8 on) or protocols.

        PartialError if some broker does not answer: `found` of it has the groups of the others.
        """
        protocols = set(items(protocol_types))
        request = messages.ListGroupsRequest(
            states_filter=list(map(str, items(states))), types_filter=list(map(str, items(types)))
        )

        def read(response: Any) -> list[tuple[str, GroupListing]]:
            check(response.error_code, about="listing groups")
            return [
                (each.group_id, _listing(each))
                for each in response.groups
                if not protocols or each.protocol_type in protocols
            ]

        return dict(await self._call(timeout).every_broker("listing groups", request, read))

    async def list_consumer_groups(
        self, *, states: Iterable[GroupState] = (), timeout: float | None = None
    ) -> dict[str, GroupListing]:
        """The groups of consumers, classic and new, and those that only have offsets.

        Kafka has deprecated this call in favour of `list_groups`, which tells all groups and their types.
        """
        return await self.list_groups(states=states, protocol_types=("consumer", ""), timeout=timeout)

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Delete groups without members, with their offsets.

        Members that come later begin where `auto.offset.reset` tells them, as in a group that never was.
        """
        return await self._delete_groups(group_ids, timeout)

    async def delete_share_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Delete share groups without members, with their state."""
        return await self._delete_groups(group_ids, timeout)

    async def delete_streams_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Delete streams groups without members. Their topics stay."""
        return await self._delete_groups(group_ids, timeout)

    async def delete_group(self, group_id: str, *, missing_ok: bool = False, timeout: float | None = None) -> None:
        """Delete one group of any type. `missing_ok`: it need not be there."""
        error = (await self._delete_groups([group_id], timeout)).failed.get(group_id)
        if error is not None and not (missing_ok and error.code.name == "GROUP_ID_NOT_FOUND"):
            raise error

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        instance_ids: Iterable[str] | None = None,
        *,
        reason: str = _REASON,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Make members leave: static ones by their instance ids (Kafka 2.4 on), or all that there are.

        The outcomes have the instance ids, and the member ids of those that have none. A member that still runs joins
        again.
        """
        call = self._call(timeout)
        instances = None if instance_ids is None else items(instance_ids)
        members = await self._members(group_id, timeout) if instances is None else dict.fromkeys(instances, "")

        def ask(keys: list[str]) -> messages.LeaveGroupRequest:
            leaving = [
                messages.LeaveGroupRequest.MemberIdentity(
                    member_id=members[key], group_instance_id=None if key == members[key] else key, reason=reason
                )
                for key in keys
            ]
            return messages.LeaveGroupRequest(group_id=group_id, members=leaving)

        def read(response: Any, keys: list[str]) -> Answers[str, None]:
            check(response.error_code, about=f"group {group_id}")
            for each in response.members:
                key = each.group_instance_id if each.group_instance_id is not None else each.member_id
                yield key, outcome(None, each.error_code, about=f"member {key} of {group_id}")

        return await call.each(members, At(GROUP, group_id), ask, read, lowest=_FIRST_LEAVE_MANY)

    async def _members(self, group_id: str, timeout: float | None) -> dict[str, str]:
        """Key → member id of all members; the key is the instance id, or else the member id itself."""

        def read(response: Any) -> dict[str, str]:
            (group,) = response.groups
            check(group.error_code, group.error_message, f"group {group_id}")
            return {
                m.member_id if m.group_instance_id is None else m.group_instance_id: m.member_id for m in group.members
            }

        return await self._call(timeout).one(
            At(GROUP, group_id), messages.DescribeGroupsRequest(groups=[group_id]), read
        )

    async def _delete_groups(self, group_ids: Iterable[str], timeout: float | None) -> Outcomes[str, None]:
        """One request for all types: the coordinator knows which it is."""

        def ask(keys: list[str]) -> messages.DeleteGroupsRequest:
            return messages.DeleteGroupsRequest(groups_names=keys)

        def read(response: Any, keys: list[str]) -> Answers[str, None]:
            for each in response.results:
                yield each.group_id, outcome(None, each.error_code, about=f"group {each.group_id}")

        return await self._call(timeout).each(group_ids, GROUP, ask, read)


def _listing(found: Any) -> GroupListing:
    """What the broker's version does not tell is UNKNOWN."""
    return GroupListing(found.group_id, GroupType(found.group_type), GroupState(found.group_state), found.protocol_type)
