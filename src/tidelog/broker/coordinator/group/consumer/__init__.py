"""Consumer groups (KIP-848): the broker assigns, and nobody waits for anybody.

Three epochs, each of which follows the one before it:

    group epoch          what is wanted: bumped whenever members, subscriptions or their topics change
    assignment epoch     what shall be: the group epoch for which an assignor of the broker has computed a target
    member epoch         what is: the assignment epoch that a member has reached

Each member goes from what it has to its part of the target by its own heartbeats: it gives back first, moves to the
epoch then, and is given what others have released. A member that is slow delays only those who wait for its partitions.
Everything is in the log, so a coordinator that moves goes on where the last one was.
"""
