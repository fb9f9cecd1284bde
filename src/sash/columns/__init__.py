"""What a column type means: how kernels read it, what can be done with its values, which type results have."""
