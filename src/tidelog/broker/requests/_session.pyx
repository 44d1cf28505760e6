"""Who is at the other end of a connection: what every request that comes in by it has in common.

A session is made when the connection is accepted and hangs on it (`ServerConnection.session`); `net` carries it and
knows nothing of it. Authentication replaces what it says of the client (`principal`, `view`), ApiVersions tells the
client's software; listener, protocol and address stay. Handlers find it as `RequestContext.session`.

On a listener whose clients have to prove who they are, `authentication` is the gate's port to the handlers of
SaslHandshake and SaslAuthenticate: they judge the proof, the gate opens (`network/gate.py`). Elsewhere it is None, and
those requests are out of place.

It is compiled because requests that are taken without a Python object of their own must know whose they are: to them
`(<Session?>connection.session).view` is two loads and a comparison.
"""

#: Kafka's principal of who has not said who he is.
ANONYMOUS = "User:ANONYMOUS"
#: Kafka's word for the software of a client that does not name it: ApiVersions does so from version 3 on (KIP-511).
UNKNOWN_SOFTWARE = "unknown"


cdef class View:
    """What a session may see. Two sessions with the same view get the same answer to the same question.

    Whatever is kept from one request for the next (encoded answers, lanes, fetch sessions) is kept per view, and is not
    found by a session of another. Views are compared by identity and may be keys of dictionaries. Without an authorizer
    everybody has the view `EVERYTHING`; an authorizer hands one view to all principals that are allowed the same, and
    new views when an ACL changes: what was kept under an old one is then asked for by nobody.
    """

    def __init__(self, str name not None):
        self.name = name

    def __repr__(self):
        return f"View({self.name!r})"


EVERYTHING = View("everything")


cdef class Session:
    def __init__(self, str listener not None, str security_protocol not None, str client_host not None,
                 str principal not None=ANONYMOUS, View view not None=EVERYTHING):
        self.listener = listener
        self.security_protocol = security_protocol
        self.client_host = client_host
        self.principal = principal
        self.view = view
        self.client_software_name = self.client_software_version = UNKNOWN_SOFTWARE

    @property
    def quota_user(self):
        """The user that quotas count for, beside the client id that each request names: the principal's bare name."""
        return self.principal.partition(":")[2]

    def __repr__(self):
        return f"Session({self.principal} from {self.client_host} on {self.listener})"
