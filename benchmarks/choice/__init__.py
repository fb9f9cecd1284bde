"""What the choice of an algorithm is worth: every algorithm that fits, in situations that the table of costs does not have."""
