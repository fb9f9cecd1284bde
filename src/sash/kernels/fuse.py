"""Fuses a loop, an algorithm and the shape of a partial into one flat body: methods inlined, state in local variables.

    window.insert(lifted(row))          partial_1 = lift(column_0[row])
                                ──►     self_values_0[self_end & mask] = partial_1
                                        self_back = partial_1 if self_end == self_flip else combine(self_back, partial_1)
                                        self_end += 1

Why the methods are not called as compiled functions: passing arrays in a state tuple costs reference counts, five to ten
times the work itself. Each rewriting rule is one method. Unsupported syntax is an error that names the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import count

from sash.kernels.fuse_expressions import ExpressionRewriter, FusionSpec, item, unsigned
from sash.kernels.read import FunctionSource, parse_text

STORAGE_METHODS = {"_resize", "_forget"}
"""Calls that are dropped: a kernel allocates for its largest window before it starts, and frees everything at the end."""


def fuse(spec: FusionSpec, loop: FunctionSource) -> list[ast.stmt]:
    """Return the body of the loop with the algorithm's methods inlined."""
    return StatementRewriter(spec, count(1), loop, receiver="window", renamed={}).block(loop.node.body)


class StatementRewriter(ExpressionRewriter):
    """Rewrites the body of one inlined call, or of the loop itself: a method for each type of statement."""

    def inline(self, method: FunctionSource, arguments: list[ast.expr], call: ast.Call) -> ast.expr:
        """Add the statements of a call to `before`, and return its result."""
        number = next(self.numbers)
        receiver, *parameters = method.parameters
        if len(parameters) != len(arguments):
            message = f"{method.node.name} takes {len(parameters)} argument(s), not {len(arguments)}"
            raise self.source.error(call, message)
        renamed = {name: f"{name}_{number}" for name in method.assigned}
        inner = StatementRewriter(self.spec, self.numbers, method, receiver, renamed, result=f"result_{number}")
        self.before += [
            ast.Assign([ast.Name(renamed[name], ast.Store())], value)
            for name, value in zip(parameters, arguments, strict=True)
        ]
        self.before += inner.block(method.node.body)
        return ast.Name(inner.result, ast.Load())

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements up to the first return."""
        out: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            if isinstance(statement, ast.If) and _returns(statement):
                return out + self._if(statement, statements[number + 1 :])
            out += self._statement(statement)
            if isinstance(statement, ast.Return):
                break
        return out

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        kind = type(statement).__name__.lower()
        rule = getattr(self, f"_{kind}", None)
        if rule is None:
            raise self.source.error(statement, f"the fuser doesn't support the statement {kind}")
        rewritten: list[ast.stmt] = rule(statement)
        return self._take_before() + rewritten

    def _return(self, statement: ast.Return) -> list[ast.stmt]:
        if statement.value is None or self.is_loop:
            return []
        return [ast.Assign([ast.Name(self.result, ast.Store())], self.expression(statement.value))]

    def _assign(self, statement: ast.Assign) -> list[ast.stmt]:
        if len(statement.targets) != 1:
            raise self.source.error(statement, "the fuser doesn't support a = b = …: assign one target at a time")
        return self._store(statement.targets[0], self.expression(statement.value))

    def _annassign(self, statement: ast.AnnAssign) -> list[ast.stmt]:
        if statement.value is None:
            return []
        return self._store(statement.target, self.expression(statement.value))

    def _augassign(self, statement: ast.AugAssign) -> list[ast.stmt]:
        value = ast.BinOp(self.expression(statement.target), statement.op, self.expression(statement.value))
        return self._store(statement.target, value)

    def _store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [ast.Assign([ast.Name(self.renamed.get(target.id, target.id), ast.Store())], value)]
        attribute = self.attribute_of(target.value if isinstance(target, ast.Subscript) else target)
        if attribute is None and self.is_loop and isinstance(target, ast.Subscript):  # a parameter of the loop
            index = unsigned(self.expression(target.slice))
            return [ast.Assign([item(ast.unparse(target.value), index, ast.Store())], value)]
        if attribute is None:
            raise self.source.error(target, f"the fuser can't assign to {ast.unparse(target)}")
        declared = self.declared(attribute, target)
        if isinstance(target, ast.Attribute):
            if declared not in ("int", "P"):
                raise self.source.error(target, f"{declared} {attribute} is replaced as a whole: write its items")
            return [ast.Assign([ast.Name(f"self_{attribute}", ast.Store())], value)]
        assert isinstance(target, ast.Subscript)
        index = self.index(declared, self.expression(target.slice))
        if attribute in self.spec.from_input:
            return []
        if not declared.endswith("[P]"):
            return [ast.Assign([item(f"self_{attribute}", index, ast.Store())], value)]
        return self._fields_to(f"self_{attribute}", index, value)

    def _fields_to(self, columns: str, index: ast.expr, partial: ast.expr) -> list[ast.stmt]:
        """Write each field of a partial into its column."""
        stored = f"stored_{next(self.numbers)}"
        stores: list[ast.stmt] = [ast.Assign([ast.Name(stored, ast.Store())], partial)]
        for number, field in enumerate(self.spec.layout.take_apart(ast.Name(stored, ast.Load()))):
            stores.append(ast.Assign([item(f"{columns}_{number}", index, ast.Store())], field))
        return stores

    def _if(self, statement: ast.If, rest: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Move the `rest`, the statements after an `if` that returns, into branches that don't: inlined code can't return."""
        test = self.expression(statement.test)
        before = self._take_before()
        body, orelse = (
            self.block(branch if _always_returns(branch) else [*branch, *rest])
            for branch in (statement.body, statement.orelse)
        )
        if not body and not orelse:
            return before
        return [*before, ast.If(test, body or [ast.Pass()], orelse)]

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        self._refuse_return_or_else(statement)
        self.conditional += 1
        test = self.expression(statement.test)
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
        counted = self.expression(call)
        before = self._take_before()
        body = self.block(statement.body) or [ast.Pass()]
        if self.is_loop and self.spec.tracks_row and target.id == "row":
            row = ast.Name(target.id, ast.Load())
            body = [ast.Assign([item("progress", ast.Constant(0), ast.Store())], row), *body]
        return [*before, ast.For(target, counted, body, [])]

    def _expr(self, statement: ast.Expr) -> list[ast.stmt]:
        call = statement.value
        if isinstance(call, ast.Constant):  # a docstring
            return []
        if not isinstance(call, ast.Call):
            raise self.source.error(statement, f"{ast.unparse(call)} has no effect")
        if isinstance(call.func, ast.Name) and call.func.id == "emit":
            *position, held, partial = (self.expression(argument) for argument in call.args)
            return self._take_before() + self._emit(position, held, partial)
        if isinstance(call.func, ast.Name) and call.func.id == "keep":
            record, partial = (self.expression(argument) for argument in call.args)
            return self._take_before() + self._fields_to("results", unsigned(record), partial)
        if self.attribute_of(call.func) in STORAGE_METHODS:
            return []
        self.expression(call)  # inlining moves its statements into self.before
        return []

    def _emit(self, position: list[ast.expr], held: ast.expr, partial: ast.expr) -> list[ast.stmt]:
        """Write the results of one window at a row, or at a range and a row."""
        positions = [ast.unparse(each) for each in position]
        item_of = ", ".join(f"np.uint64({each})" for each in positions)
        mark = "mark_valid_of" if len(positions) > 1 else "mark_valid"
        lines = [f"emitted = {ast.unparse(partial)}"]
        for result, output in enumerate(self.spec.fused.outputs):
            written = [f"results_{result}[{item_of}] = lower_{result}(emitted)"]
            if self.spec.marks:
                written.append(f"{mark}(valid_{result}, {', '.join(positions)})")
            if output.at_least > 1:
                values = ast.unparse(held) if output.held is None else f"held_{result}(emitted)"
                written = [f"if {values} >= {output.at_least}:", *(f"    {line}" for line in written)]
            lines += written
        return parse_text("\n".join(lines)).body

    def _delete(self, statement: ast.Delete) -> list[ast.stmt]:
        for target in statement.targets:
            attribute = self.attribute_of(target.value) if isinstance(target, ast.Subscript) else None
            if attribute is None or not self.declared(attribute, target).startswith("Column"):
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

    def _take_before(self) -> list[ast.stmt]:
        before, self.before = self.before, []
        return before


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _always_returns(statements: Iterable[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and _always_returns(statement.body) and _always_returns(statement.orelse):
            return True
    return False
