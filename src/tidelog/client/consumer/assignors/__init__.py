"""How a classic group's leader divides the partitions among the members. Pure: subscriptions in, partitions out.

Reading order:

    assignor             what every assignor is given and gives back; own ones start here
    range                each topic in runs, the same partitions of all topics to the same member
    round_robin          all partitions of all topics dealt out in turn
    claims, racks        what members say they own, and where they stand; both sticky assignors begin with it
    equal_shares         sticky when all members want the same topics: everybody keeps what it may
    uneven_shares        sticky when they do not: move one by one while it gets more even
    sticky               the two, told through user data, for eager groups
    cooperative_sticky   the same for cooperative ones: nothing moves before its owner has given it back
    hash_order           the order in which Java's maps list their keys
    lookup               from `partition.assignment.strategy` to assignors

Which member leads a group is chance: Java, librdkafka or we. If two leaders divided the same group differently, every
change of leader would move partitions for nothing. So these assignors give what Java's give, partition by partition,
also where Java's result follows from the order of a hash map; a test compares them on a large random set.
"""
