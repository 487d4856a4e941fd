"""What a mutant is, and all mutants of one module. The sources stay as they are: a mutant is text in memory."""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "operator"
PACKAGE = SOURCES / "xapp_operator"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_LOGGERS = {"_log", "log", "logger"}
"""What is logged is not tested: log lines are no contract, and their absence changes nothing else."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Key(NamedTuple):
    """Identifies a mutant as long as its own statement stays the same, wherever the statement moves."""

    module: str
    scope: str
    before: str
    after: str
    number: int
    """Counts the mutants of one scope that read the same, from 1."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change to one module."""

    key: Key
    lines: frozenset[int]
    """The lines of the changed expression or statement, from 1."""
    source: str = field(repr=False)
    mutated: str = field(repr=False)
    function: tuple[str, int] | None
    """Qualified name and first line of the outermost function around the change; None: it runs at import."""
    function_lines: frozenset[int] = frozenset()
    """The lines of the body of that function."""

    @property
    def path(self) -> Path:
        return PACKAGE / self.key.module

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{min(self.lines)}"

    @property
    def name(self) -> str:
        """The name of the module, as it is imported."""
        return ".".join(self.path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")

    def diff(self) -> str:
        """Return the change as a diff without context."""
        lines = difflib.unified_diff(self.source.splitlines(), self.mutated.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@dataclass(frozen=True)
class _Change:
    node: ast.expr | ast.stmt
    text: str
    """What stands there instead."""


@dataclass
class _Place:
    """Where the walk is."""

    scope: tuple[str, ...] = ()
    function: tuple[str, int] | None = None
    statement: ast.stmt | None = None
    function_lines: frozenset[int] = frozenset()


class _Source:
    """The text of a module, with the positions that `ast` gives: lines from 1, columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._data = text.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def replaced(self, change: _Change) -> str:
        start, end = self._span(change.node)
        return (self._data[:start] + change.text.encode() + self._data[end:]).decode()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module, in the order of its text."""
    module = path.relative_to(PACKAGE).as_posix()
    return mutants_of_text(path.read_text(encoding="utf-8"), module)


def mutants_of_text(text: str, module: str) -> list[Mutant]:
    """Return all mutants of a module with this text, in the order of the text."""
    source = _Source(text)
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for place, change in _walk(source.tree.body, _Place()):
        assert place.statement is not None
        assert change.node.end_lineno is not None
        scope = ".".join(place.scope)
        before, after = _header(place.statement), _mutated_header(place.statement, change)
        number = seen[scope, before, after] = seen.get((scope, before, after), 0) + 1
        key = Key(module=module, scope=scope, before=before, after=after, number=number)
        lines = frozenset(range(change.node.lineno, change.node.end_lineno + 1))
        mutated = source.replaced(change)
        found.append(
            Mutant(
                key=key,
                lines=lines,
                source=text,
                mutated=mutated,
                function=place.function,
                function_lines=place.function_lines,
            )
        )
    return found


def _header(statement: ast.stmt) -> str:
    """Return a statement on one line, without the block below it."""
    return " ".join(ast.unparse(_without_blocks(statement)).split())


def _without_blocks(statement: ast.stmt) -> ast.stmt:
    bare = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
        if isinstance(getattr(bare, name, None), list):
            setattr(bare, name, [ast.Expr(ast.Constant(...))] if name == "body" else [])
    return bare


def _mutated_header(statement: ast.stmt, change: _Change) -> str:
    if change.node is statement:
        return " ".join(change.text.split())
    change.node.is_mutated = True  # type: ignore[union-attr]  # found again by this mark in the copy
    changed = copy.deepcopy(_without_blocks(statement))
    del change.node.is_mutated  # type: ignore[union-attr]
    return _header(_Replace(ast.parse(change.text, mode="eval").body).visit(changed))


class _Replace(ast.NodeTransformer):
    def __init__(self, replacement: ast.expr) -> None:
        self._replacement = replacement

    def visit(self, node: ast.AST) -> Any:
        return self._replacement if hasattr(node, "is_mutated") else self.generic_visit(node)


def _walk(body: list[ast.stmt], place: _Place) -> Iterator[tuple[_Place, _Change]]:
    for number, statement in enumerate(body):
        if number == 0 and _is_docstring(statement):
            continue
        yield from _walk_statement(statement, replace(place, statement=statement))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _walk_statement(statement: ast.stmt, place: _Place) -> Iterator[tuple[_Place, _Change]]:
    if isinstance(statement, Function):
        yield from _walk_function(statement, place)
        return
    if isinstance(statement, ast.ClassDef):
        yield from _walk(statement.body, replace(place, scope=(*place.scope, statement.name), statement=None))
        return
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    if _is_for_type_checkers(statement) or _is_logging(statement) or _is_for_pytest(statement):
        return
    for change in _statement_changes(statement, in_function=place.function is not None):
        yield place, change
    for expression in _expressions(statement):
        for change in _expression_changes(expression):
            yield place, change
    for block in _blocks(statement):
        yield from _walk(block, place)


def _walk_function(function: Function, place: _Place) -> Iterator[tuple[_Place, _Change]]:
    scope = (*place.scope, function.name)
    at_definition = replace(place, scope=scope, statement=function)
    for default in (*function.args.defaults, *(each for each in function.args.kw_defaults if each)):
        for change in _expression_changes(default):
            yield at_definition, change
    inside = replace(place, scope=scope, statement=None)
    if inside.function is None:
        first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        assert function.end_lineno is not None
        inside.function = (".".join(scope), first)
        inside.function_lines = frozenset(range(function.body[0].lineno, function.end_lineno + 1))
    yield from _walk(function.body, inside)


def _is_for_type_checkers(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case _:
            return False


def _is_logging(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = statement.value.func
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in _LOGGERS


def _is_for_pytest(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__test__"


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
        yield part.body


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement itself, without those of its blocks and of its annotations."""
    for name, value in ast.iter_fields(statement):
        if name in {"annotation", "type_params", "type_comment"}:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.expr):
                yield each
            elif isinstance(each, ast.withitem):
                yield each.context_expr
            elif isinstance(each, ast.match_case) and each.guard is not None:
                yield each.guard


def _statement_changes(statement: ast.stmt, *, in_function: bool) -> Iterator[_Change]:
    match statement:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            yield _Change(statement, "pass")
        case ast.Return(value=ast.expr() as value) if not _is_falsy_constant(value):
            yield _Change(statement, "return None")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign() if in_function:
            yield _Change(statement, "pass")
        case _:
            pass
    if isinstance(statement, ast.AugAssign) and (other := _ARITHMETIC.get(type(statement.op))):
        changed = ast.AugAssign(target=statement.target, op=other(), value=statement.value)
        yield _Change(statement, ast.unparse(ast.fix_missing_locations(changed)))
    if isinstance(statement, ast.If | ast.While):
        yield from _negated(statement.test)


def _is_falsy_constant(value: ast.expr) -> bool:
    """Say whether a caller can hardly tell the value from None: mypy sees the change before a test does."""
    return isinstance(value, ast.Constant) and not value.value


def _expression_changes(expression: ast.expr) -> Iterator[_Change]:
    if isinstance(expression, ast.JoinedStr):
        return  # before Python 3.12, the nodes in f-strings have no positions
    yield from _node_changes(expression)
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from _expression_changes(child)
        elif isinstance(child, ast.keyword):
            yield from _expression_changes(child.value)
        elif isinstance(child, ast.comprehension):
            yield from _expression_changes(child.iter)
            for condition in child.ifs:
                yield from _negated(condition)
                yield from _expression_changes(condition)


def _node_changes(node: ast.expr) -> Iterator[_Change]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                operators = [*node.ops[:index], _COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
                yield _expression(node, ast.Compare(left=node.left, ops=operators, comparators=node.comparators))
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _expression(node, ast.BoolOp(op=other, values=node.values))
            for index in range(len(node.values)):
                rest = [*node.values[:index], *node.values[index + 1 :]]
                yield _expression(node, rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest))
        case ast.UnaryOp(op=ast.Not()):
            yield _expression(node, node.operand)
        case ast.IfExp():
            yield from _negated(node.test)
        case ast.BinOp() if (changed := _ARITHMETIC.get(type(node.op))) and not _is_text(node):
            yield _expression(node, ast.BinOp(left=node.left, op=changed(), right=node.right))
        case ast.Constant(value=bool()):
            yield _Change(node, str(not node.value))
        case ast.Constant(value=int() | float() as number):
            yield _Change(node, repr(number + 1))
            yield _Change(node, f"({number - 1!r})" if number < 1 else repr(number - 1))
        case _:
            pass


def _is_text(node: ast.BinOp) -> bool:
    """Say whether an operand is a text literal: another operator raises there."""
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
        for each in (node.left, node.right)
    )


def _negated(condition: ast.expr) -> Iterator[_Change]:
    """Negate a condition, unless another change of it does: `not x` and `a == b`."""
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and not isinstance(condition.ops[0], _BOUNDS):
        return
    yield _Change(condition, f"(not ({ast.unparse(condition)}))")


def _expression(node: ast.expr, replacement: ast.expr) -> _Change:
    return _Change(node, f"({ast.unparse(ast.fix_missing_locations(replacement))})")
