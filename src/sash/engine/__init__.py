"""One evaluation driver, without Spark: prepare, cut, evaluate, assemble. README.md shows the flow and the files."""
