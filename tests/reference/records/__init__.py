"""Plain, slow, readable forms of the record kernel: the oracle that the compiled one is compared with."""
