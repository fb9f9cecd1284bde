"""Kernels for aggregates that are read by rank (median, quantile): they sort whole columns in blocks.

blocks.py       where a column is cut into blocks
row_sorter.py   sorts a block: the rank of each row
rank_kernel.py  slides windows over the ranks of a block
"""

from sash.kernels.ranks.rank_kernel import RankKernel

__all__ = ["RankKernel"]
