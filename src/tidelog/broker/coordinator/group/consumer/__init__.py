"""Consumer groups of KIP-848: one heartbeat, a target computed by the coordinator, members reconciled one by one."""
