"""What make and the tests call, and users do not."""
