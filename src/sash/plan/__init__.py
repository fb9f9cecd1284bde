"""How a query is evaluated: passes, algorithms and slices, decided before any row is read. See README.md."""
