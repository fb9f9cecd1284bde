"""Which algorithm answers what, and why."""
