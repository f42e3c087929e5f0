"""What every judge needs: a Go toolchain, a simulated node, a record of results."""
