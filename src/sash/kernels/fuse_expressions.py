"""The expressions of a fused loop: names, state and calls, as they occur in the methods that are inlined (fuse.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sash.kernels.fused_partial import FusedPartial, PartialLayout
from sash.kernels.read import AlgorithmSource, FunctionSource

KNOWN_FUNCTIONS = {"min", "max", "abs", "int", "range", "same", "is_newer", "is_above", "only_value"}
KNOWN_FUNCTIONS |= {"only_key", "same_key", "hash_of", "count_ones", "lowest_one", "highest_one", "select_one"}
AGGREGATE_FUNCTIONS = {"combine", "inverse", "rank", "between", "place"}
KNOWN_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Constant, ast.Name,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip


@dataclass(frozen=True)
class FusionSpec:
    """The algorithm and the options that a loop is fused with."""

    algorithm: AlgorithmSource
    layout: PartialLayout
    fused: FusedPartial
    nullable: bool
    """Whether rows may be null."""
    marks: bool
    """Whether the loop writes a validity bitmap."""
    from_input: frozenset[str]
    """The columns that are read from the input, because they hold nothing else."""
    tracks_row: bool
    """Whether the loop records the current row, so that an error in lower can name it."""

    def parameters_of(self, attribute: str) -> list[str]:
        """Return the parameters of the fused loop that hold an attribute of the algorithm."""
        declared = self.algorithm.state[attribute]
        if declared != "P" and not declared.endswith("[P]"):
            return [f"self_{attribute}"]
        prefix = "start" if declared == "P" else "self"
        return [f"{prefix}_{attribute}_{field}" for field in range(len(self.layout.fields))]


@dataclass(eq=False)
class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites the expressions of one inlined call."""

    spec: FusionSpec
    numbers: Iterator[int]
    """Numbers for names that occur nowhere else in the loop."""
    source: FunctionSource
    receiver: str
    renamed: dict[str, str]
    before: list[ast.stmt] = field(default_factory=list)
    """Inlined statements that must run before the current expression."""
    conditional: int = 0
    """The depth of conditional expressions: a call in them can't be inlined, because its statements would always run."""
    result: str = ""
    """The name that holds the result of the call."""

    @property
    def is_loop(self) -> bool:
        """Whether this is the loop itself: a method has a receiver to rename."""
        return not self.renamed

    def expression(self, node: ast.expr) -> ast.expr:
        """Return an expression rewritten; the statements that it needs are in `before`."""
        rewritten = self.visit(node)
        assert isinstance(rewritten, ast.expr)
        return rewritten

    def inline(self, method: FunctionSource, arguments: list[ast.expr], call: ast.Call) -> ast.expr:
        """Add the statements of a call to `before`, and return its result."""
        raise NotImplementedError

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rewrite the inner expressions."""
        if not isinstance(node, KNOWN_EXPRESSIONS):
            raise self.source.error(node, f"the fuser doesn't support the expression {ast.unparse(node)}")
        node_type: Any = type(node)
        rewritten: ast.AST = node_type(**{name: self._visit_field(value) for name, value in ast.iter_fields(node)})
        return rewritten

    def _visit_field(self, value: object) -> object:
        if isinstance(value, list):
            return [self._visit_field(each) for each in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

    def visit_BoolOp(self, node: ast.BoolOp | ast.IfExp) -> ast.AST:
        """Rewrite expressions that may not be evaluated."""
        self.conditional += 1
        rewritten = self.generic_visit(node)
        self.conditional -= 1
        return rewritten

    visit_IfExp = visit_BoolOp  # noqa: N815 — ast's name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a local name of the loop, or the value of a constant."""
        if node.id in self.renamed:
            return ast.Name(self.renamed[node.id], ast.Load())
        if node.id in self.source.assigned:
            return ast.Name(node.id, ast.Load())
        if node.id in self.source.constants:
            return ast.Constant(self.source.constants[node.id])
        raise self.source.error(node, f"the fuser doesn't know the name {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the local variable that holds a cursor or a partial of the state."""
        attribute = self.attribute_of(node)
        if attribute is None:
            raise self.source.error(node, f"the fuser doesn't know {ast.unparse(node)}")
        declared = self.declared(attribute, node)
        if declared not in ("int", "P"):
            raise self.source.error(node, f"{declared} {attribute} is read as a whole: read its items")
        return ast.Name(f"self_{attribute}", ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Return an item of an array: of the state, or of a parameter of the loop."""
        attribute = self.attribute_of(node.value)
        if attribute is None:
            if isinstance(node.value, ast.Name) and self.is_loop:  # an array that is a parameter of the loop
                return item(node.value.id, unsigned(self.expression(node.slice)), ast.Load())
            raise self.source.error(node, f"the fuser doesn't know {ast.unparse(node)}")
        declared = self.declared(attribute, node)
        if attribute in self.spec.from_input:
            return self._lifted(self.expression(node.slice))
        index = self.index(declared, self.expression(node.slice))
        if declared.endswith("[P]"):
            return self.spec.layout.build(lambda field: item(f"self_{attribute}_{field}", index, ast.Load()))
        return item(f"self_{attribute}", index, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Inline a method, or call a function."""
        if node.keywords:
            raise self.source.error(node, "arguments by keyword: pass them by position")
        method = self.attribute_of(node.func)
        if method is None:
            return self._call_function(node)
        arguments = [self.expression(argument) for argument in node.args]
        if method == "query":
            method = self.spec.algorithm.query
        if method in AGGREGATE_FUNCTIONS:
            return ast.Call(ast.Name(method, ast.Load()), arguments, [])
        if method not in self.spec.algorithm.methods:
            raise self.source.error(node, f"{self.spec.algorithm.name} has no method {method}")
        if self.conditional:
            raise self.source.error(
                node, f"{method} is called in a conditional expression: assign its result to a name before"
            )
        return self.inline(self.spec.algorithm.methods[method], arguments, node)

    def _call_function(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        arguments = [self.expression(argument) for argument in node.args]
        if name == "lifted" and self.is_loop:
            return self._lifted(arguments[0])
        if name == "present" and self.is_loop:
            if not self.spec.nullable:
                return ast.Constant(True)
            return ast.Call(ast.Name("is_valid", ast.Load()), [ast.Name("validity", ast.Load()), arguments[0]], [])
        if name not in KNOWN_FUNCTIONS:
            raise self.source.error(node, f"the fuser doesn't know the function {name}")
        return ast.Call(ast.Name(name, ast.Load()), arguments, [])

    def _lifted(self, row: ast.expr) -> ast.expr:
        columns = [item(f"column_{n}", unsigned(row), ast.Load()) for n in range(len(self.spec.fused.inputs))]
        return ast.Call(ast.Name("lift", ast.Load()), list[ast.expr](columns), [])

    def attribute_of(self, node: ast.expr) -> str | None:
        """Return the attribute of the algorithm that an expression names, if it does."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.receiver:
            return node.attr
        return None

    def declared(self, attribute: str, node: ast.AST) -> str:
        """Return how the algorithm declares an attribute of its state."""
        if attribute not in self.spec.algorithm.state:
            raise self.source.error(
                node, f"{self.spec.algorithm.name} doesn't declare its state {attribute}: annotate it in the class"
            )
        return self.spec.algorithm.state[attribute]

    @staticmethod
    def index(declared: str, index: ast.expr) -> ast.expr:
        """Return the index of an item. A column is a ring, in which positions are reused."""
        if declared.startswith("Column"):
            index = ast.BinOp(index, ast.BitAnd(), ast.Name("mask", ast.Load()))
        return unsigned(index)


def item(array: str, index: ast.expr, context: ast.expr_context) -> ast.Subscript:
    """Return the expression of an item."""
    return ast.Subscript(ast.Name(array, ast.Load()), index, context)


def unsigned(index: ast.expr) -> ast.expr:
    """Spare Numba the test for a negative index at every access."""
    return ast.Call(ast.Name("np.uint64", ast.Load()), [index], [])
