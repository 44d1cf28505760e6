"""Classic groups (JoinGroup, SyncGroup, Heartbeat): members, the rebalance in two phases, its states as a table."""
