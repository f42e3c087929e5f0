"""What every judge needs: a simulated node, what to expect of it, a record of results."""
