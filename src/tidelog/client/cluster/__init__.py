"""The way to a cluster: who is in it (`metadata`), whom to ask and whether to ask again (`client`), the `connections`
to them, how long to wait before the next try (`backoff`), and how to prove who we are (`security`).
"""
