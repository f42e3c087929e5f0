"""What the programs of others are built and run with: shared by compat/, bench/ and e2e/."""
