"""Kernels for aggregates that are read by rank (median, quantile): they sort whole columns in blocks.

blocks.py             where a column is cut into blocks
row_sorter.py         sorts a block: the rank of each row
rank_kernel.py        slides windows over the ranks of a block, compiled
wavelet_matrix.py     the element of any rank in any range, for many ranges at once
numpy_rank_kernel.py  reads all windows of a block at once, with NumPy
"""

from sash.kernels.ranks.numpy_rank_kernel import NumpyRankKernel
from sash.kernels.ranks.rank_kernel import RankKernel

__all__ = ["NumpyRankKernel", "RankKernel"]
