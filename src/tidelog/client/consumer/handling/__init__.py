"""`consumer.run(handler, …)`: records handed to a function, several at a time, and committed when they are done.

    poll ─► Workload: job queues (who may run now) + trackers (what may be committed) ─► workers ─► handler
                                                                                     it raised: the policy decides ─┘

What is hard about handling records at the same time is the commit: it is one offset per partition, and says that
*everything* before it is done. `tracker` keeps the order that `job_queues` and workers break up, and lets no commit
pass over a record that is still at work. Both are plain data without time, threads or asyncio; `blocking` and `aio` are
the two ways of running them, `policies` says what becomes of a record whose handler raised.
"""

from tidelog.client.consumer.handling.policies import dead_letter as dead_letter
from tidelog.client.consumer.handling.policies import retry as retry
from tidelog.client.consumer.handling.policies import skip as skip
from tidelog.client.consumer.handling.policies import stop as stop
