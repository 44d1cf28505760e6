"""What a broker knows of its cluster: images of topics and brokers, the cache of them, and the configs of topics."""
