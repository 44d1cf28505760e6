class Taker:
    taken: int
    pending: int
