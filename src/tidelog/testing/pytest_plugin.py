"""The pytest plugin: fixtures that give a test a broker of its own."""
