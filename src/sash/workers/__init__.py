"""What Python workers do for Spark: Arrow in, Arrow out. See README.md."""
