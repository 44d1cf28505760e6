"""Client quotas, kept and filtered."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_client_quotas_are_kept_and_filtered(ask):
    Entry, Entity, Op = (
        m.AlterClientQuotasRequest.EntryData,
        m.AlterClientQuotasRequest.EntityData,
        m.AlterClientQuotasRequest.OpData,
    )

    def set_quota(entity, key, value, *, remove=False):
        parts = [Entity(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        entry = Entry(entity=parts, ops=[Op(key=key, value=value, remove=remove)])
        return ask(m.AlterClientQuotasRequest(entries=[entry])).entries[0].error_code

    def filtered(*components, strict=False):
        Component = m.DescribeClientQuotasRequest.ComponentData
        parts = [Component(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
        answer = ask(m.DescribeClientQuotasRequest(components=parts, strict=strict))
        return {
            tuple((e.entity_type, e.entity_name) for e in entry.entity): {v.key: v.value for v in entry.values}
            for entry in answer.entries
        }

    assert set_quota({"user": "a/b"}, "producer_byte_rate", 1000) == 0
    assert set_quota({"user": None, "client-id": "c"}, "request_percentage", 12.5) == 0
    assert set_quota({"ip": "10.0.0.1"}, "connection_creation_rate", 5) == 0
    assert set_quota({"user": "u"}, "connection_creation_rate", 5) == ErrorCode.INVALID_REQUEST
    assert set_quota({"user": "u"}, "producer_byte_rate", -1) == ErrorCode.INVALID_REQUEST
    assert set_quota({"team": "u"}, "producer_byte_rate", 1) == ErrorCode.INVALID_REQUEST
    assert filtered(("user", 0, "a/b")) == {(("user", "a/b"),): {"producer_byte_rate": 1000.0}}
    assert set(filtered(("user", 2, None))) == {(("user", "a/b"),), (("user", None), ("client-id", "c"))}
    assert set(filtered(("user", 2, None), strict=True)) == {(("user", "a/b"),)}
    assert len(filtered()) == 3
    assert set_quota({"user": "a/b"}, "producer_byte_rate", 0, remove=True) == 0
    assert len(filtered()) == 2
