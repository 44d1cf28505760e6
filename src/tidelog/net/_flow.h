/* The states of a server connection and what leads from one to another: one table, which the code follows.
 *
 * A state is a set of the conditions below; the empty set is a connection that is read and whose next frame is looked
 * at. An event is refused, and changes nothing, unless all conditions of its first column hold and none of its second.
 *
 *   BUSY     a request is in work and will be answered later
 *   CORKED   frames of one read event are being handed on: their answers wait, to leave together
 *   STALLED  answers wait for the socket, for the disk, or for a thread that sends them
 *   PAUSED   the loop does not read from the socket
 *   CLOSING  the connection is given up; nothing leads out of this
 *   HELD     not the connection's own: nobody looks at another request (queued.max.requests), see _receive.pyx
 *
 * LOOK, RESUME and SEND change nothing: they ask whether something may be done now. */
#ifndef TIDELOG_NET_FLOW_H
#define TIDELOG_NET_FLOW_H

enum { TL_BUSY = 1, TL_CORKED = 2, TL_STALLED = 4, TL_PAUSED = 8, TL_CLOSING = 16, TL_HELD = 32 };

enum tl_event {
    TL_BEGIN, TL_FINISH, TL_CORK, TL_UNCORK, TL_STALL, TL_FLOW,
    TL_PAUSE, TL_READ, TL_LOOK, TL_RESUME, TL_SEND, TL_CLOSE, TL_EVENTS
};

typedef struct {
    const char *name;
    unsigned char needs, refuses, sets, clears;
} tl_transition;

#define TL_IN_THE_WAY (TL_BUSY | TL_STALLED | TL_HELD | TL_CLOSING)
#define TL_NOT_SENT (TL_STALLED | TL_CORKED | TL_CLOSING)

static const tl_transition TL_TRANSITIONS[TL_EVENTS] = {
    /*             name      only if    not if                     sets        clears */
    [TL_BEGIN]  = {"begin",  0,         TL_BUSY | TL_CLOSING,      TL_BUSY,    0},          /* a request is in work */
    [TL_FINISH] = {"finish", TL_BUSY,   0,                         0,          TL_BUSY},    /* it is answered */
    [TL_CORK]   = {"cork",   0,         TL_CORKED | TL_CLOSING,    TL_CORKED,  0},          /* hand frames on */
    [TL_UNCORK] = {"uncork", TL_CORKED, 0,                         0,          TL_CORKED},  /* all have been */
    [TL_STALL]  = {"stall",  0,         TL_STALLED | TL_CLOSING,   TL_STALLED, 0},          /* answers have to wait */
    [TL_FLOW]   = {"flow",   0,         0,                         0,          TL_STALLED}, /* they do no longer */
    [TL_PAUSE]  = {"pause",  0,         TL_PAUSED | TL_CLOSING,    TL_PAUSED,  0},          /* read no more */
    [TL_READ]   = {"read",   TL_PAUSED, TL_IN_THE_WAY,             0,          TL_PAUSED},  /* read again */
    [TL_LOOK]   = {"look",   0,         TL_IN_THE_WAY,             0,          0},          /* at the next frame */
    [TL_RESUME] = {"resume", 0,         TL_IN_THE_WAY | TL_CORKED, 0,          0},          /* with what is kept */
    [TL_SEND]   = {"send",   0,         TL_NOT_SENT,               0,          0},          /* what is queued */
    [TL_CLOSE]  = {"close",  0,         TL_CLOSING,                TL_CLOSING, 0},          /* give it up */
};

/* Whether the event is possible in this state; if so, it has happened. */
static inline int tl_move(int *state, enum tl_event event, int held) {
    const tl_transition *row = &TL_TRANSITIONS[event];
    int now = *state | (held ? TL_HELD : 0);
    if ((now & row->needs) != row->needs || now & row->refuses) return 0;
    *state = (*state | row->sets) & ~row->clears;
    return 1;
}

#endif
