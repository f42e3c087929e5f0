"""Real container engines on a simulated node: `run` is the program, README.md says what it shows."""
