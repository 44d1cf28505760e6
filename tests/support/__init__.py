"""What several test folders (and bench/) share: Apache Kafka as oracle, free ports, child processes."""
