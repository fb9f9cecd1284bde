"""Fuses a loop, an algorithm and the shape of a partial into one flat body: methods inlined, state in local variables.

    window.insert(lifted(row))          partial_1 = lift(column_0[row])
                                ──►     self_values_0[self_end & mask] = partial_1
                                        self_back = partial_1 if self_end == self_flip else combine(self_back, partial_1)
                                        self_end += 1

Why the methods are not called as compiled functions: passing arrays in a state tuple costs reference counts, five to ten
times the work itself. Each rewriting rule is one method of `_Frame`. Unsupported syntax is an error that names the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sash.kernels.layout import PartialLayout
from sash.kernels.read import AlgorithmSource, FunctionSource

KNOWN_FUNCTIONS = {"min", "max", "abs", "int", "range", "same", "is_newer", "is_above", "only_value"}
KNOWN_FUNCTIONS |= {"only_key", "same_key", "hash_of", "count_ones", "lowest_one", "highest_one", "select_one"}
OF_THE_LOOP = {"window", "present", "lifted", "emit", "keep"}
"""The parameters of a loop that the fuser replaces."""
AGGREGATE_FUNCTIONS = {"combine", "inverse", "rank", "between", "place"}
KNOWN_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Constant, ast.Name,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip
STORAGE_METHODS = {"_resize", "_forget"}
"""Calls that are dropped: a kernel allocates for its largest window before it starts, and frees everything at the end."""


@dataclass(frozen=True)
class FusionSpec:
    """The algorithm and the options that a loop is fused with."""

    algorithm: AlgorithmSource
    layout: PartialLayout
    inputs: int
    at_least: tuple[int, ...]
    """For each result: the minimum number of values."""
    counted: tuple[bool, ...]
    """For each result: whether the partial counts its values; otherwise the loop does."""
    nullable: bool
    """Whether rows may be null."""
    marks: bool
    """Whether the loop writes a validity bitmap."""
    from_input: frozenset[str]
    """The columns that are read from the input, because they hold nothing else."""
    tracks_row: bool
    """Whether the loop records the current row, so that an error in lower can name it."""

    def parameters_of(self, attribute: str, kind: str) -> list[str]:
        """Return the parameters of the fused loop that hold an attribute of the algorithm."""
        if kind != "P" and not kind.endswith("[P]"):
            return [f"self_{attribute}"]
        prefix = "start" if kind == "P" else "self"
        return [f"{prefix}_{attribute}_{field}" for field in range(len(self.layout.fields))]


class Fuser:
    """Inlines an algorithm's methods into a loop."""

    def __init__(self, spec: FusionSpec) -> None:
        self.spec = spec
        self.algorithm = spec.algorithm
        self.layout = spec.layout
        self._instances = 0

    def fuse(self, loop: FunctionSource) -> list[ast.stmt]:
        """Return the body of the loop with everything inlined."""
        frame = _Frame(self, loop, receiver="window", renamed={}, result=None)
        return frame.block(loop.node.body)

    def inline(
        self, method: FunctionSource, arguments: list[ast.expr], call: ast.AST, caller: FunctionSource
    ) -> tuple[list[ast.stmt], str]:
        """Return the statements of one call and the name that holds its result."""
        number = self.next_instance()
        receiver, *parameters = method.parameters
        if len(parameters) != len(arguments):
            raise caller.error(call, f"{method.node.name} takes {len(parameters)} argument(s), not {len(arguments)}")
        renamed = {name: f"{name}_{number}" for name in method.assigned}
        result = f"result_{number}"
        frame = _Frame(self, method, receiver, renamed, result)
        bound: list[ast.stmt] = [
            ast.Assign([ast.Name(renamed[name], ast.Store())], value)
            for name, value in zip(parameters, arguments, strict=True)
        ]
        return bound + frame.block(method.node.body), result

    def next_instance(self) -> int:
        """Return a number that no other inlined call has."""
        self._instances += 1
        return self._instances


class _Frame(ast.NodeTransformer):
    """Rewrites the body of one inlined call."""

    def __init__(
        self, fuser: Fuser, source: FunctionSource, receiver: str, renamed: dict[str, str], result: str | None
    ) -> None:
        self.fuser = fuser
        self.source = source
        self.receiver = receiver
        self.is_loop = result is None
        self.renamed = renamed
        self.result = result
        self.before: list[ast.stmt] = []
        """Inlined statements that must run before the current expression."""
        self.conditional = 0
        """The depth of conditional expressions: a call in them can't be inlined, because its statements would always run."""

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements up to the first return."""
        out: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            if isinstance(statement, ast.If) and _returns(statement):
                return out + self._branch(statement, statements[number + 1 :])
            out += self._statement(statement)
            if isinstance(statement, ast.Return):
                break
        return out

    def _branch(self, statement: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Move the statements after an `if` that returns into the branches that don't return: inlined code can't return."""
        test = self._expression(statement.test)
        before = self._take_before()
        body = self.block(statement.body + ([] if _always_returns(statement.body) else rest))
        orelse = self.block(statement.orelse + ([] if _always_returns(statement.orelse) else rest))
        return [*before, ast.If(test, body or [ast.Pass()], orelse)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        rule = getattr(self, f"_{type(statement).__name__.lower()}", None)
        if rule is None:
            raise self.source.error(
                statement, f"the fuser doesn't support the statement {type(statement).__name__.lower()}"
            )
        rewritten: list[ast.stmt] = rule(statement)
        return self._take_before() + rewritten

    def _return(self, statement: ast.Return) -> list[ast.stmt]:
        if statement.value is None or self.result is None:
            return []
        return [ast.Assign([ast.Name(self.result, ast.Store())], self._expression(statement.value))]

    def _assign(self, statement: ast.Assign) -> list[ast.stmt]:
        if len(statement.targets) != 1:
            raise self.source.error(statement, "the fuser doesn't support a = b = …: assign one target at a time")
        return self._store(statement.targets[0], self._expression(statement.value))

    def _annassign(self, statement: ast.AnnAssign) -> list[ast.stmt]:
        if statement.value is None:
            return []
        return self._store(statement.target, self._expression(statement.value))

    def _augassign(self, statement: ast.AugAssign) -> list[ast.stmt]:
        target = ast.parse(ast.unparse(statement.target), mode="eval").body
        target = ast.copy_location(target, statement.target)
        ast.fix_missing_locations(target)
        value = ast.BinOp(self._expression(target), statement.op, self._expression(statement.value))
        return self._store(statement.target, value)

    def _store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [ast.Assign([ast.Name(self.renamed.get(target.id, target.id), ast.Store())], value)]
        attribute = self._attribute_of(target.value if isinstance(target, ast.Subscript) else target)
        if (
            attribute is None and self.is_loop and isinstance(target, ast.Subscript)
        ):  # an array that is a parameter of the loop
            place = _unsigned(self._expression(target.slice))
            return [ast.Assign([_item(ast.unparse(target.value), place, ast.Store())], value)]
        if attribute is None:
            raise self.source.error(target, f"the fuser can't assign to {ast.unparse(target)}")
        kind = self._kind(attribute, target)
        if isinstance(target, ast.Attribute):
            if kind not in ("int", "P"):
                raise self.source.error(target, f"{kind} {attribute} is replaced as a whole: write its items")
            return [ast.Assign([ast.Name(f"self_{attribute}", ast.Store())], value)]
        assert isinstance(target, ast.Subscript)
        index = self._index(kind, self._expression(target.slice))
        if attribute in self.fuser.spec.from_input:
            return []
        if not kind.endswith("[P]"):
            return [ast.Assign([_item(f"self_{attribute}", index, ast.Store())], value)]
        return self._fields_to(f"self_{attribute}", index, value)

    def _fields_to(self, columns: str, index: ast.expr, partial: ast.expr) -> list[ast.stmt]:
        """Write each field of a partial into its column."""
        stored = f"stored_{self.fuser.next_instance()}"
        stores: list[ast.stmt] = [ast.Assign([ast.Name(stored, ast.Store())], partial)]
        for field, part in enumerate(self.fuser.layout.take_apart(ast.Name(stored, ast.Load()))):
            stores.append(ast.Assign([_item(f"{columns}_{field}", index, ast.Store())], part))
        return stores

    def _if(self, statement: ast.If) -> list[ast.stmt]:
        test = self._expression(statement.test)
        before = self._take_before()
        body, orelse = self.block(statement.body), self.block(statement.orelse)
        if not body and not orelse:
            return before
        return [*before, ast.If(test, body or [ast.Pass()], orelse)]

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        self._refuse_return_or_else(statement)
        self.conditional += 1
        test = self._expression(statement.test)
        self.conditional -= 1
        return [ast.While(test, self.block(statement.body) or [ast.Pass()], [])]

    def _for(self, statement: ast.For) -> list[ast.stmt]:
        self._refuse_return_or_else(statement)
        call = statement.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise self.source.error(statement, "a for loop must count: for i in range(…)")
        if not isinstance(statement.target, ast.Name):
            raise self.source.error(statement, "a for loop must count with one name")
        target = ast.Name(self.renamed.get(statement.target.id, statement.target.id), ast.Store())
        counted = self._expression(call)
        before = self._take_before()
        body = self.block(statement.body) or [ast.Pass()]
        if self.is_loop and self.fuser.spec.tracks_row and target.id == "row":
            row = ast.Name(target.id, ast.Load())
            body = [ast.Assign([_item("progress", ast.Constant(0), ast.Store())], row), *body]
        return [*before, ast.For(target, counted, body, [])]

    def _expr(self, statement: ast.Expr) -> list[ast.stmt]:
        call = statement.value
        if isinstance(call, ast.Constant):  # a docstring
            return []
        if not isinstance(call, ast.Call):
            raise self.source.error(statement, f"{ast.unparse(call)} has no effect")
        if isinstance(call.func, ast.Name) and call.func.id == "emit":
            *place, held, partial = (self._expression(argument) for argument in call.args)
            return self._take_before() + self._emit(place, held, partial)
        if isinstance(call.func, ast.Name) and call.func.id == "keep":
            record, partial = (self._expression(argument) for argument in call.args)
            return self._take_before() + self._fields_to("results", _unsigned(record), partial)
        if self._attribute_of(call.func) in STORAGE_METHODS:
            return []
        self._expression(call)  # inlining moves its statements into self.before
        return []

    def _emit(self, place: list[ast.expr], held: ast.expr, partial: ast.expr) -> list[ast.stmt]:
        """Write the results of one window at a row, or at a range and a row."""
        *number, row = place
        where = ast.Tuple([*map(_unsigned, number), _unsigned(row)], ast.Load()) if number else _unsigned(row)
        statements: list[ast.stmt] = [ast.Assign([ast.Name("emitted", ast.Store())], partial)]
        for output, at_least in enumerate(self.fuser.spec.at_least):
            lowered = ast.Call(ast.Name(f"lower_{output}", ast.Load()), [ast.Name("emitted", ast.Load())], [])
            written: list[ast.stmt] = [ast.Assign([_item(f"results_{output}", where, ast.Store())], lowered)]
            if self.fuser.spec.marks:
                mark = "mark_valid_of" if number else "mark_valid"
                written += ast.parse(f"{mark}(valid_{output}, {', '.join(map(ast.unparse, place))})").body
            if at_least > 1:
                counted = ast.Call(ast.Name(f"held_{output}", ast.Load()), [ast.Name("emitted", ast.Load())], [])
                values = counted if self.fuser.spec.counted[output] else held
                written = [ast.If(ast.Compare(values, [ast.GtE()], [ast.Constant(at_least)]), written, [])]
            statements += written
        return statements

    def _delete(self, statement: ast.Delete) -> list[ast.stmt]:
        for target in statement.targets:
            attribute = self._attribute_of(target.value) if isinstance(target, ast.Subscript) else None
            if attribute is None or not self._kind(attribute, target).startswith("Column"):
                raise self.source.error(statement, "only a position of a column can be deleted")
        return []

    def _pass(self, _: ast.Pass | ast.Assert) -> list[ast.stmt]:
        return []

    _assert = _pass

    def _break(self, statement: ast.Break | ast.Continue) -> list[ast.stmt]:
        return [type(statement)()]

    _continue = _break

    def _refuse_return_or_else(self, loop: ast.While | ast.For) -> None:
        if loop.orelse:
            raise self.source.error(loop, "the fuser doesn't support a loop with else")
        if not self.is_loop and _returns(loop):
            raise self.source.error(loop, "return inside a loop: leave the loop first, then return")

    # -- expressions -----------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> ast.expr:
        rewritten = self.visit(node)
        assert isinstance(rewritten, ast.expr)
        return rewritten

    def _take_before(self) -> list[ast.stmt]:
        before, self.before = self.before, []
        return before

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, KNOWN_EXPRESSIONS):
            raise self.source.error(node, f"the fuser doesn't support the expression {ast.unparse(node)}")
        node_type: Any = type(node)
        rewritten: ast.AST = node_type(**{name: self._visit_field(value) for name, value in ast.iter_fields(node)})
        return rewritten

    def _visit_field(self, value: object) -> object:
        if isinstance(value, list):
            return [self._visit_field(item) for item in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

    def visit_BoolOp(self, node: ast.BoolOp | ast.IfExp) -> ast.AST:
        self.conditional += 1
        rewritten = self.generic_visit(node)
        self.conditional -= 1
        return rewritten

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.visit_BoolOp(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.renamed:
            return ast.Name(self.renamed[node.id], ast.Load())
        if node.id in self.source.assigned:
            return ast.Name(node.id, ast.Load())
        if node.id in self.source.constants:
            return ast.Constant(self.source.constants[node.id])
        raise self.source.error(node, f"the fuser doesn't know the name {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self._attribute_of(node)
        if attribute is None:
            raise self.source.error(node, f"the fuser doesn't know {ast.unparse(node)}")
        kind = self._kind(attribute, node)
        if kind not in ("int", "P"):
            raise self.source.error(node, f"{kind} {attribute} is read as a whole: read its items")
        return ast.Name(f"self_{attribute}", ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        attribute = self._attribute_of(node.value)
        if attribute is None:
            if isinstance(node.value, ast.Name) and self.is_loop:  # an array that is a parameter of the loop
                return _item(node.value.id, _unsigned(self._expression(node.slice)), ast.Load())
            raise self.source.error(node, f"the fuser doesn't know {ast.unparse(node)}")
        kind = self._kind(attribute, node)
        if attribute in self.fuser.spec.from_input:
            return self._lifted(self._expression(node.slice))
        index = self._index(kind, self._expression(node.slice))
        if kind.endswith("[P]"):
            return self.fuser.layout.build(lambda field: _item(f"self_{attribute}_{field}", index, ast.Load()))
        return _item(f"self_{attribute}", index, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node.keywords:
            raise self.source.error(node, "arguments by keyword: pass them by position")
        method = self._attribute_of(node.func)
        if method is None:
            return self._call_function(node)
        arguments = [self._expression(argument) for argument in node.args]
        if method == "query":
            method = self.fuser.algorithm.query
        if method in AGGREGATE_FUNCTIONS:
            return ast.Call(ast.Name(method, ast.Load()), arguments, [])
        if method not in self.fuser.algorithm.methods:
            raise self.source.error(node, f"{self.fuser.algorithm.name} has no method {method}")
        if self.conditional:
            raise self.source.error(
                node, f"{method} is called in a conditional expression: assign its result to a name before"
            )
        statements, result = self.fuser.inline(self.fuser.algorithm.methods[method], arguments, node, self.source)
        self.before += statements
        return ast.Name(result, ast.Load())

    def _call_function(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        arguments = [self._expression(argument) for argument in node.args]
        if name == "lifted" and self.is_loop:
            return self._lifted(arguments[0])
        if name == "present" and self.is_loop:
            if not self.fuser.spec.nullable:
                return ast.Constant(True)
            row = ast.unparse(arguments[0])
            return ast.parse(f"is_valid(validity, {row})", mode="eval").body
        if name not in KNOWN_FUNCTIONS:
            raise self.source.error(node, f"the fuser doesn't know the function {name}")
        return ast.Call(ast.Name(name, ast.Load()), arguments, [])

    def _lifted(self, row: ast.expr) -> ast.expr:
        columns = [_item(f"column_{n}", _unsigned(row), ast.Load()) for n in range(self.fuser.spec.inputs)]
        return ast.Call(ast.Name("lift", ast.Load()), list[ast.expr](columns), [])

    # -- state -----------------------------------------------------------------------------------------------------

    def _attribute_of(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.receiver:
            return node.attr
        return None

    def _kind(self, attribute: str, node: ast.AST) -> str:
        if attribute not in self.fuser.algorithm.state:
            raise self.source.error(
                node, f"{self.fuser.algorithm.name} doesn't declare its state {attribute}: annotate it in the class"
            )
        return self.fuser.algorithm.state[attribute]

    @staticmethod
    def _index(kind: str, index: ast.expr) -> ast.expr:
        """A column is a ring: its places are reused."""
        if kind.startswith("Column"):
            index = ast.BinOp(index, ast.BitAnd(), ast.Name("mask", ast.Load()))
        return _unsigned(index)


def _item(array: str, index: ast.expr, context: ast.expr_context) -> ast.Subscript:
    return ast.Subscript(ast.Name(array, ast.Load()), index, context)


def _unsigned(index: ast.expr) -> ast.expr:
    """Spare Numba the test for a negative index at every access."""
    return ast.Call(ast.Name("np.uint64", ast.Load()), [index], [])


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _always_returns(statements: Iterable[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and _always_returns(statement.body) and _always_returns(statement.orelse):
            return True
    return False
