"""The clients: Producer, Consumer and Admin. They know neither the broker nor the log, and any Kafka is their peer.

Reading order:

    config/           every setting, with Kafka's names and defaults; from what a user gives to a checked config
    values            what all clients speak of: offsets with metadata, nodes, who one is in a group
    cluster/          connections, metadata, coordinators; retries; TLS and SASL from settings
    serialization     objects to bytes and back, as Java's built-in classes do it
    loop_thread       the event loop of the blocking clients
    producer/         from `send` to the leaders' answers
    consumer/         from fetches and groups to `poll`
    admin/            questions and changes, subject by subject
    topics, offsets, transaction_requests   what others than the Admin ask about these, over the same code
    blocking          a bare cluster client for code that is not asynchronous (Spark, the command line)

One core, two faces. A *core* lives on one asyncio loop, whichever that is, and never blocks it. `tidelog.aio` gives it
to the caller's own loop, without threads. `tidelog` (blocking) gives it a loop on a thread of its own: sending,
fetching and heartbeats go on whatever the caller does meanwhile, and nothing that the caller does can hold them up.

            the caller's thread                          the loop
    blocking   send, poll ──► kernel (appends, cuts out) ◄── sender, fetch engine, memberships ◄──► brokers
    asyncio    the same, and both sides are one thread

What crosses between the two sides is a batch, never a record: records are appended to batches and cut out of fetched
ones by compiled code on the caller's side, under the GIL, and the loop handles whole batches.

What holds everywhere: an operation that fails raises `KafkaError`, and its code says whether another try may help and
whether the metadata was to blame. Whoever tries again does so with growing waits and a deadline, never for ever. A
broker is found by its address, and a partition by its leader as metadata has it; an answer that says otherwise makes
the metadata stale, and nothing is guessed. An error that belongs to no call (a callback that raised, a member that was
fenced) is raised by the next one. Code of the user's (listeners, callbacks, interceptors) runs in the user's turn, and
never on the way of a heartbeat.
"""

import logging

# Whether and where a log is shown is the program's choice.
logging.getLogger("tidelog").addHandler(logging.NullHandler())
