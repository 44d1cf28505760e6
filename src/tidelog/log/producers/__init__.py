"""What a partition knows of its producers: epochs, sequences, open transactions, and their snapshots on disk."""
