"""The tree of a PySpark Column, without what differs between processes.

    classic: ColumnNode in the JVM ──┐
                                     ├──► nested tuples of text, and the Python functions in them
    Connect: Protobuf message ───────┘

PySpark shows a column as text only, which hides the functions and, on Connect, the quotes of literals, and which has addresses and
counters of the process in it. So this module reads Spark's internal classes, as `private.py` does. What it does not know raises an
error: an identity is complete, or there is none. Left out are call sites, ids of plans and expressions, the names of lambda
variables, and the seeds of random functions, which PySpark chooses anew for each process.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

Tree: TypeAlias = "str | tuple[Tree, ...]"
Scope: TypeAlias = Mapping[str, int]
"""The lambda variables around an expression: how many were bound before each."""
SEEDS = {"rand": 0, "randn": 0, "uuid": 0, "shuffle": 1, "randstr": 1, "uniform": 2}
"""The places of the seeds of random functions among their arguments."""
NODES, EXPRESSIONS = "org.apache.spark.sql.internal", "org.apache.spark.sql.catalyst.expressions"
"""The packages of classes in the JVM."""
SKIPPED = ("Origin", "ExprId")
NOTHING = "scala.None$"
BROADCAST = "broadcast"


class UnknownExpressionError(Exception):
    """Why an expression cannot be identified, as a part of a sentence about it."""


class ColumnTree:
    """The tree of a column, the Python functions in it, and the columns of frames that it names."""

    def __init__(self) -> None:
        self.tree: Tree = ()
        self.functions: list[Callable[..., Any]] = []
        self.bound_names: list[str] = []
        """Columns that were taken from a frame, as df.x is."""

    def read(self, part: Any, scope: Scope) -> Tree:
        """Return the tree of a part of a column."""
        raise NotImplementedError

    def read_call(self, name: str, arguments: Iterable[Any], scope: Scope, options: list[str]) -> Tree:
        """Return the tree of a call; options come last, and the seed of a random function is left out."""
        trees = [self.read(argument, scope) for argument in arguments]
        seed = SEEDS.get(name.lower(), len(trees))
        without = [tree for place, tree in enumerate(trees) if place != seed or tree[0] != "literal"]
        return "call", name, *without, *options

    def read_lambda(self, names: list[str], body: Any, scope: Scope) -> Tree:
        """Return the tree of a lambda function. Each variable is known by its number, counted from the outside."""
        inner = {**scope, **{name: len(scope) + place for place, name in enumerate(names)}}
        return "lambda", *(str(inner[name]) for name in names), self.read(body, inner)


def read_column(column: Any, session: SparkSession) -> ColumnTree:
    """Return the tree of a column of a classic session, or of Connect."""
    is_connect = type(column).__module__.startswith("pyspark.sql.connect")
    reader, part = (_Messages(), column.to_plan(session.client)) if is_connect else (_Nodes(), column._jc.node())  # noqa: SLF001
    reader.tree = reader.read(part, {})
    return reader


class _Messages(ColumnTree):
    """Reads columns of Connect: Protobuf messages. A kind of expression has a method of its name, or is read field by field."""

    def read(self, message: Any, scope: Scope) -> Tree:
        """Return the tree of an expression."""
        kind = message.WhichOneof("expr_type")
        body = getattr(message, kind)
        reader: Callable[[Any, Scope], Tree] | None = getattr(self, f"_read_{kind}", None)
        return reader(body, scope) if reader else (kind, self._fields(body, scope))

    def _read_unresolved_attribute(self, body: Any, _: Scope) -> Tree:
        if body.HasField("plan_id"):
            self.bound_names.append(body.unparsed_identifier)
        return "column", body.unparsed_identifier, *([()] if body.is_metadata_column else [])

    def _read_call_function(self, body: Any, scope: Scope) -> Tree:
        return self._read_unresolved_function(body, scope, "call_function")

    def _read_unresolved_function(self, body: Any, scope: Scope, *options: str) -> Tree:
        flags = [name for name in ("is_distinct", "is_user_defined_function") if getattr(body, name, False)]
        return self.read_call(body.function_name, body.arguments, scope, [*options, *flags])

    def _read_lambda_function(self, body: Any, scope: Scope) -> Tree:
        names = [".".join(argument.name_parts) for argument in body.arguments]
        return self.read_lambda(names, body.function, scope)

    def _read_unresolved_named_lambda_variable(self, body: Any, scope: Scope) -> Tree:
        return _variable(".".join(body.name_parts), scope)

    def _read_expression_string(self, body: Any, _: Scope) -> Tree:
        return "text", body.expression

    def _read_literal(self, body: Any, scope: Scope) -> Tree:
        kind = body.WhichOneof("literal_type")
        value = getattr(body, kind)
        shown = f"{kind} {value!r}" if isinstance(value, str | bytes | bool | int | float) else kind
        return "literal", shown, self._fields(body, scope)

    def _read_common_inline_user_defined_function(self, body: Any, scope: Scope) -> Tree:
        if body.WhichOneof("function") != "python_udf":
            raise _not_python(body.function_name)
        udf = body.python_udf
        self.functions.append(_unpickled(udf.command, {}))
        about = (self._fields(udf.output_type, scope), str(udf.eval_type), str(body.deterministic))
        return "function", body.function_name, about, *(self.read(argument, scope) for argument in body.arguments)

    def _fields(self, message: Any, scope: Scope) -> Tree:
        """Return the tree of any message, field by field."""
        fields: list[Tree] = []
        for field, value in message.ListFields():
            if field.name in ("common", "plan_id"):
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                entries: list[Tree] = [(repr(key), self._value(value[key], scope)) for key in sorted(value)]
                fields.append((field.name, *entries))
            elif isinstance(value, str | bytes) or not hasattr(value, "__len__"):
                fields.append((field.name, self._value(value, scope)))
            else:
                fields.append((field.name, *(self._value(item, scope) for item in value)))
        return tuple(fields)

    def _value(self, value: Any, scope: Scope) -> Tree:
        if not hasattr(value, "ListFields"):
            return repr(value)
        return self.read(value, scope) if value.DESCRIPTOR.name == "Expression" else self._fields(value, scope)


class _Nodes(ColumnTree):
    """Reads columns of a classic session: objects in the JVM, which are nodes, expressions, and what they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[str, Callable[[Any, Scope], Tree]] = {
            f"{NODES}.UnresolvedAttribute": self._column,
            f"{NODES}.UnresolvedFunction": self._call,
            f"{NODES}.LambdaFunction": self._lambda,
            f"{NODES}.UnresolvedNamedLambdaVariable": lambda node, scope: _variable(node.name(), scope),
            f"{NODES}.SqlExpression": lambda node, _: ("text", str(node.expression())),
            f"{NODES}.Literal": self._literal,
            f"{NODES}.InvokeInlineUserDefinedFunction": self._not_python,
            "org.apache.spark.sql.classic.ExpressionColumnNode": self._inner,
            "org.apache.spark.sql.classic.ColumnNodeExpression": self._inner,
            f"{EXPRESSIONS}.AttributeReference": self._bound_column,
            f"{EXPRESSIONS}.PythonUDF": self._function,
            f"{EXPRESSIONS}.ScalaUDF": self._not_python,
            "java.sql.Timestamp": lambda node, _: ("Timestamp", str(node.toInstant().toString())),  # in no time zone
        }

    def read(self, node: Any, scope: Scope) -> Tree:
        """Return the tree of an object. Py4J converts numbers, text and bytes."""
        if isinstance(node, bytes | bytearray):
            return f"bytes {bytes(node).hex()}"
        if not hasattr(node, "getClass"):
            return f"{type(node).__name__} {node!r}"
        name = node.getClass().getName()
        if name in self.readers:
            return self.readers[name](node, scope)
        if name.startswith("scala.collection."):
            return tuple(self.read(item, scope) for item in _items(node))
        if name.startswith("org.apache.spark.sql.types."):
            return str(node.json())
        return self._any(node, name, scope)

    def _any(self, node: Any, name: str, scope: Scope) -> Tree:
        """Return the tree of any case class or constant of Scala, or of a value of Java."""
        if name.endswith("$"):
            return name
        if name.startswith(("java.sql.", "java.time.", "java.math.", "java.lang.", "scala.Enumeration")):
            return name, str(node.toString())
        loader = node.getClass().getClassLoader()
        is_product = loader is not None and loader.loadClass("scala.Product").isInstance(node)
        if not is_product or not name.startswith(("org.apache.spark.sql.", "scala.")):
            raise UnknownExpressionError(f"it has a {name}, whose content cannot be read")
        elements = [node.productElement(place) for place in range(node.productArity())]
        return name, *(self.read(element, scope) for element in elements if not _is_skipped(element))

    def _inner(self, node: Any, scope: Scope) -> Tree:
        return self.read(node.productElement(0), scope)

    def _column(self, node: Any, _: Scope) -> Tree:
        names = [str(part) for part in _items(node.nameParts())]
        return "column", ".".join(names), *names, *([()] if node.isMetadataColumn() else [])

    def _bound_column(self, node: Any, _: Scope) -> Tree:
        self.bound_names.append(str(node.name()))
        return "column", str(node.name()), str(node.name())

    def _call(self, node: Any, scope: Scope) -> Tree:
        flags = [flag for flag in ("isDistinct", "isUserDefinedFunction") if getattr(node, flag)()]
        return self.read_call(node.functionName(), _items(node.arguments()), scope, flags)

    def _lambda(self, node: Any, scope: Scope) -> Tree:
        names = [str(argument.name()) for argument in _items(node.arguments())]
        return self.read_lambda(names, node.function(), scope)

    def _literal(self, node: Any, scope: Scope) -> Tree:
        """Return the value of a literal and its type. Py4J makes one type of all integers, and SQL tells them apart."""
        value, dtype = node.productElement(0), node.productElement(1)
        sql = [str(node.sql())] if isinstance(value, int | float) else []
        return "literal", self.read(value, scope), *sql, self.read(dtype, scope)

    def _function(self, node: Any, scope: Scope) -> Tree:
        function = node.func()
        broadcasts = {int(each.id()): each for each in function.broadcastVars()}
        command = function.command()
        if not isinstance(command, bytes | bytearray):
            command = bytes(byte & 0xFF for byte in _items(command))
        self.functions.append(_unpickled(bytes(command), broadcasts))
        about = (str(node.dataType().json()), str(node.evalType()), str(node.udfDeterministic()))
        return "function", str(node.name()), about, *(self.read(each, scope) for each in _items(node.children()))

    def _not_python(self, node: Any, _: Scope) -> Tree:
        raise _not_python(str(node.sql()))


def show(tree: Tree) -> str:  # noqa: PLR0911 — a kind of node each
    """Return a tree as text to read. Different trees may look the same.

    >>> show(("call", "exists", ("column", "xs"), ("lambda", "0", ("call", ">", ("variable", "0"), ("literal", "int 1")))))
    'exists(xs, v0 -> >(v0, 1))'
    """
    match tree:
        case str():
            return tree
        case ("column" | "text", str(name), *_):
            return name
        case ("variable", number):
            return f"v{number}"
        case ("lambda", *numbers, body):
            return f"{', '.join(f'v{number}' for number in numbers)} -> {show(body)}"
        case ("literal", value, *_):
            return value.partition(" ")[2] or value if isinstance(value, str) else show(value)
        case ("call", str(name), *arguments) | ("function", str(name), _, *arguments):
            return f"{name}({', '.join(map(show, arguments))})"
        case (str(name), *parts):
            return f"{name.rpartition('.')[2]}({', '.join(show(part) for part in parts if part != NOTHING)})"
    return f"({', '.join(map(show, tree))})"


def _variable(name: str, scope: Scope) -> Tree:
    return "variable", str(scope[name]) if name in scope else f"free {name}"


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]


def _is_skipped(part: Any) -> bool:
    return hasattr(part, "getClass") and part.getClass().getSimpleName() in SKIPPED


def _not_python(name: str) -> UnknownExpressionError:
    return UnknownExpressionError(f"{name} is a function of Java or Scala, whose code cannot be read")


def _unpickled(command: bytes, broadcasts: Mapping[int, Any]) -> Any:
    """Return the function that workers get; broadcast variables in it are replaced by their values."""
    try:
        content = _Unpickler(command, broadcasts).load()
        # a function that is too large to be sent with each task
        if isinstance(content, tuple) and content[0] == BROADCAST:
            content = _Unpickler(content[1], broadcasts).load()
    except Exception as error:  # whatever the classes of the values raise
        raise UnknownExpressionError(f"its Python function cannot be read ({type(error).__name__}: {error})") from error
    return content[0] if isinstance(content, tuple) else content


class _Unpickler(pickle.Unpickler):
    """Reads a function as a worker does, but in the driver, where broadcast variables are files."""

    def __init__(self, data: bytes, broadcasts: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(data))
        self.broadcasts = broadcasts

    def find_class(self, module: str, name: str) -> Any:
        """Return a global variable of a module."""
        return self._broadcast if name == "_from_id" and "broadcast" in module else super().find_class(module, name)

    def _broadcast(self, number: int) -> tuple[str, Any]:
        with Path(self.broadcasts[number].value().path()).open("rb") as file:
            return BROADCAST, pickle.load(file)  # noqa: S301 — the program's own value
