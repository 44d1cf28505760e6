"""Connections of this broker to the other brokers of its cluster.

    connections.py   one connection per broker, opened when first needed, shared by everybody who asks

Brokers are clients of each other, over the listener that `inter.broker.listener.name` names and with the requests that
any client could send: transaction coordinators write markers to the leaders of other brokers and ask each other whether
a producer may write (WriteTxnMarkers, AddPartitionsToTxn); followers will fetch from leaders; a controller tells all of
them what it decided. Whoever does so comes here, so that there is one place that knows where a broker is reached, how
one proves to it who one is, and when a connection is given up.
"""
