"""Every key of the broker, under its own name: `config[keys.NUM_PARTITIONS]`.

definition.py   the set they all belong to
network.py log.py topics.py replication.py groups.py share_groups.py transactions.py metrics.py remote.py
security.py ssl.py sasl.py cluster.py zookeeper.py     Kafka's keys, by theme
own.py          the few that only Tidelog has
broker_config.py `BrokerConfig`: a broker's values, from its file, the command line and dynamic changes
endpoints.py    listeners and what they advertise
"""

from tidelog.broker.config.cluster import *  # noqa: F403 - the themes together are this package's namespace
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.config.groups import *  # noqa: F403 - as above
from tidelog.broker.config.log import *  # noqa: F403 - as above
from tidelog.broker.config.metrics import *  # noqa: F403 - as above
from tidelog.broker.config.network import *  # noqa: F403 - as above
from tidelog.broker.config.own import *  # noqa: F403 - as above
from tidelog.broker.config.remote import *  # noqa: F403 - as above
from tidelog.broker.config.replication import *  # noqa: F403 - as above
from tidelog.broker.config.sasl import *  # noqa: F403 - as above
from tidelog.broker.config.security import *  # noqa: F403 - as above
from tidelog.broker.config.share_groups import *  # noqa: F403 - as above
from tidelog.broker.config.ssl import *  # noqa: F403 - as above
from tidelog.broker.config.topics import *  # noqa: F403 - as above
from tidelog.broker.config.transactions import *  # noqa: F403 - as above
from tidelog.broker.config.zookeeper import *  # noqa: F403 - as above

__all__ = ["BROKER_KEYS"]
