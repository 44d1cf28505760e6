"""The way to a cluster: where to begin (`bootstrap`), who is in it (`metadata`), whom to ask and whether to ask again
(`client`), the `connections` to them, how long to wait before the next try (`backoff`), encryption (`tls`), and how to
prove who we are (`security`).
"""
