"""Algorithms with syntax that the fuser doesn't support. HERE marks the line that its error must name; `complaint` is its text."""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms import TwoStacks


class MakesAList(TwoStacks[P]):
    complaint = r"doesn't support the expression \[partial\]"

    def insert(self, partial: P) -> None:
        self.kept = [partial]  # HERE


class ReturnsInALoop(TwoStacks[P]):
    complaint = "return inside a loop"

    def query(self) -> P:
        while self.begin < self.end:  # HERE
            return self.back
        return self.back


class HasUndeclaredState(TwoStacks[P]):
    complaint = "doesn't declare its state stride: annotate it"
    stride = 2

    def evict(self) -> None:
        self.begin += self.stride  # HERE


class CallsWhereItMayNotRun(TwoStacks[P]):
    complaint = "_more is called in a conditional expression"

    def query(self) -> P:
        while self._more() or self.begin < 0:  # HERE
            self.begin += 1
        return self.back

    def _more(self) -> bool:
        return False


class CatchesErrors(TwoStacks[P]):
    complaint = "doesn't support the statement try"

    def evict(self) -> None:
        try:  # HERE
            self.begin += 1
        finally:
            self.begin += 0


class AssignsTwice(TwoStacks[P]):
    complaint = "assign one target at a time"

    def evict(self) -> None:
        self.begin = self.flip = self.end  # HERE


class AssignsATuple(TwoStacks[P]):
    complaint = "can't assign to"

    def evict(self) -> None:
        self.begin, self.flip = self.end  # type: ignore[misc]  # HERE


class ReplacesAColumn(TwoStacks[P]):
    complaint = r"Column\[P\] values is replaced as a whole"

    def evict(self) -> None:
        self.values = self.back  # type: ignore[assignment]  # HERE


class ReadsAColumn(TwoStacks[P]):
    complaint = r"Column\[P\] values is read as a whole"

    def query(self) -> P:
        return self.combine(self.values, self.back)  # type: ignore[arg-type]  # HERE


class LoopsOverAColumn(TwoStacks[P]):
    complaint = "a for loop must count"

    def evict(self) -> None:
        for position in self.values:  # HERE
            self.begin = position


class HasALoopWithElse(TwoStacks[P]):
    complaint = "a loop with else"

    def evict(self) -> None:
        for _ in range(3):  # HERE
            self.begin += 1
        else:  # noqa: PLW0120
            self.begin += 1


class DoesNothing(TwoStacks[P]):
    complaint = "has no effect"

    def evict(self) -> None:
        self.begin + 1  # HERE


class DeletesACursor(TwoStacks[P]):
    complaint = "only a position of a column can be deleted"

    def evict(self) -> None:
        del self.begin  # HERE


class GivesArgumentsByKeyword(TwoStacks[P]):
    complaint = "arguments by keyword"

    def evict(self) -> None:
        self._move(by=1)  # HERE

    def _move(self, by: int) -> None:
        self.begin += by


class GivesTooManyArguments(TwoStacks[P]):
    complaint = r"_flip takes 0 argument\(s\), not 1"

    def evict(self) -> None:
        self._flip(1)  # type: ignore[call-arg]  # HERE


class CallsAStranger(TwoStacks[P]):
    complaint = "doesn't know the function print"

    def evict(self) -> None:
        print(self.begin)  # noqa: T201  # HERE


class CallsAMethodItDoesNotHave(TwoStacks[P]):
    complaint = "has no method _leap"

    def evict(self) -> None:
        self._leap()  # type: ignore[attr-defined]  # HERE


class ReadsAStranger(TwoStacks[P]):
    complaint = "doesn't know the name __doc__"

    def evict(self) -> None:
        self.begin = __doc__  # type: ignore[assignment]  # HERE


class ReadsAnAttributeOfAPartial(TwoStacks[P]):
    complaint = "doesn't know partial.real"

    def insert(self, partial: P) -> None:
        self.begin = partial.real  # type: ignore[attr-defined]  # HERE


class ReadsAnItemOfAPartial(TwoStacks[P]):
    complaint = r"doesn't know partial\[0\]"

    def insert(self, partial: P) -> None:
        self.begin = partial[0]  # type: ignore[index]  # HERE
