"""What handlers of credentials and quotas may use: both are kept in the store, and changed by the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.controller import Controller
    from tidelog.broker.store.api import Store


class SecurityServices(NamedTuple):
    """All that a handler of this room can touch."""

    config: BrokerConfig
    store: Store
    controller: Controller
