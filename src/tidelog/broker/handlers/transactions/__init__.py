"""Requests of transactional producers, of the brokers that end their transactions, and of who looks at them."""
