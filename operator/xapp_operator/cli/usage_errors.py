"""Says in plain English what is wrong with a command line: what was refused, the rule, and what to write instead.

A value is repeated only where it cannot be a token: after an option that names a choice or a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError
from typer._click.exceptions import (
    BadOptionUsage,
    BadParameter,
    ClickException,
    MissingParameter,
    NoSuchOption,
)

from xapp_operator.cli.errors import UsageError
from xapp_operator.cli.usage import GroupOfCommands, words_of_usage

NUMBERS: Final = {int: "a whole number", float: "a number"}
AFTER_A_FLAG: Final = "-="
"""What click calls unknown in `-A=true`."""


def usage_error(error: ClickException, root: Any, words: Sequence[str], *, program: str) -> UsageError:
    """Return the error to show for what typer refused.

    Args:
        error: the error of typer.
        root: the tree of commands.
        words: the command line without the program.
        program: how the program was started.
    """
    return UsageError(_message(error, _reach(root, words, program)))


def _message(error: ClickException, place: _Place) -> str:
    match error:
        case NoSuchOption():
            message = _unknown_option(error, place)
        case BadOptionUsage():
            message = _option_without_its_value(error, place)
        case MissingParameter():
            message = f"{_name(error.param)} is missing: write `{place.usage}`"
        case BadParameter(param=parameter) if parameter is not None:
            message = _bad_value(error)
        case _ if isinstance(place.command, GroupOfCommands):
            message = _unknown_command(place)
        case _ if "extra argument" in error.message:
            rule = f"write `{place.usage}`, and put a text with spaces in quotes"
            message = f"`{place.path}` does not take that many words: {rule}"
        case _:
            message = f"{error.format_message().rstrip('.')}: see `{place.path} --help`"
    return message


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a command line leads into the tree: the last command that it names, and the words after it."""

    command: Any
    path: str
    rest: Sequence[str]

    @property
    def usage(self) -> str:
        return " ".join((self.path, *words_of_usage(self.command)))


def _reach(root: Any, words: Sequence[str], program: str) -> _Place:
    command, path, rest = root, program, list(words)
    while isinstance(command, GroupOfCommands) and rest and rest[0] in command.commands:
        word = rest.pop(0)
        command, path = command.commands[word], f"{path} {word}"
    return _Place(command, path, rest)


def _unknown_option(error: NoSuchOption, place: _Place) -> str:
    option = error.option_name
    if option == AFTER_A_FLAG:
        return f"an option that takes no value has one behind '=': leave it out, see `{place.path} --help`"
    if not isinstance(place.command, GroupOfCommands):
        return f"`{place.path}` has no option {option}: {_suggestion(option, place)}"
    follows = next((number for number, word in enumerate(place.rest) if word in place.command.commands), None)
    if follows is not None:
        target = _reach(place.command, place.rest[follows:], place.path)
        return f"the option {option} stands before the command: options follow it, as in `{target.path} {option} …`"
    if (name := option.lstrip("-")) in place.command.commands:
        return f"`{place.path}` has no option {option}: write `{place.path} {name}`"
    return (
        f"`{place.path}` has no option {option}: options follow a command, as in `{place.path} COMMAND {option} …`; "
        f"see `{place.path} --help`"
    )


def _suggestion(option: str, place: _Place) -> str:
    names = {name.lstrip("-"): name for parameter in place.command.params for name in parameter.opts}
    if close := get_close_matches(option.lstrip("-"), names):
        return f"did you mean {' or '.join(names[each] for each in close)}?"
    return f"see `{place.path} --help`"


def _option_without_its_value(error: BadOptionUsage, place: _Place) -> str:
    option = error.option_name
    known = next((each for each in place.command.params if option in each.opts), None)
    metavar = getattr(known, "metavar", None)
    if metavar is None and "does not take" in error.message:
        return f"the option {option} takes no value: leave out '=' and what follows it"
    return f"the option {option} needs a value: write `{option} {metavar or 'VALUE'}`"


def _unknown_command(place: _Place) -> str:
    see = f"see `{place.path} --help`"
    if not place.rest:
        return f"`{place.path}` needs a command: {see}"
    word = place.rest[0]
    close = get_close_matches(word, place.command.commands)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"`{place.path}` has no command {word!r}: {meant}{see if not close else see.capitalize()}"


def _bad_value(error: BadParameter) -> str:
    descriptor = error.param.type_descriptor  # type: ignore[union-attr]
    limits = descriptor.parameter_info
    if descriptor.choices is not None:
        rule = f"one of {', '.join(str(choice.value) for choice in descriptor.choices)}"
    elif number := next((text for kind, text in NUMBERS.items() if _takes(descriptor, kind)), ""):
        least = "" if limits.min is None else f" of at least {limits.min}"
        most = "" if limits.max is None else f"{' and' if least else ' of'} at most {limits.max}"
        rule = f"{number}{least}{most}"
    else:
        return f"{_name(error.param)}: {error.message.removeprefix('Value error, ').rstrip('.')}"
    return f"{_name(error.param)} cannot be {_given(error)}: write {rule}"


def _takes(descriptor: Any, kind: type) -> bool:
    return descriptor.annotation in {kind, kind | None}


def _given(error: BadParameter) -> str:
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return repr(cause.errors(include_url=False)[0]["input"])
    return "this"


def _name(parameter: Any) -> str:
    """Return the long name of an option, or the name of an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    return str(max(parameter.opts, key=len))
