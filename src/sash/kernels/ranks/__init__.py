"""Kernels for aggregates of all values of a window (median, quantile, count_distinct): they work on whole columns in blocks.

blocks.py           where a column is cut into blocks
row_sorter.py       sorts a block: the rank of each row
rank_kernel.py      slides windows over the ranks of a block, compiled
wavelet_matrix.py   the element of any rank, or the number of small elements, in any range; for many ranges at once
smallest.py         the smallest values of all windows, compiled or with NumPy
numpy_kernels.py    order statistics, or the number of distinct values, of all windows of a block at once, with NumPy
"""
