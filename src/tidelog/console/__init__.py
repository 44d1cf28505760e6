"""The web page of a cluster will lie here, on top of `client`; there is no code yet."""
