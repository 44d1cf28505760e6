"""The way to a cluster: who is in it (`metadata`), whom to ask and whether to ask again (`client`), how long to wait
before that (`backoff`), and how to prove who we are (`security`).
"""
