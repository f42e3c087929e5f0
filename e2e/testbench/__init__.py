"""The test bench: a real Kubernetes on one machine, with simulated GPU nodes. See e2e/README.md."""
