"""Between both kinds of groups: classic members inside a consumer group, and changing a group's kind while it lives.

KIP-848 lets a group be moved to the new protocol by restarting its consumers one by one. For that time both protocols
meet in one group, and this room is where: `migration` changes the kind of a group, `classic_members` serves JoinGroup
and its companions in a group of the new kind. Neither `classic` nor `consumer` knows of the other.
"""
