"""The observer cannot write: none of its dependencies changes the cluster or records an event."""

from __future__ import annotations

import ast
import inspect
import time
import typing
from dataclasses import FrozenInstanceError, fields

import pytest

from tests.unit.reconcile.xapps import xapp
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.event_recorder import EventRecorder
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.reconcile import drift, labels, object_comparison, observe
from xapp_operator.reconcile.inputs import release_inputs
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.status.status_draft import StatusDraft

WRITING_METHODS = {
    *("create", "replace", "patch", "apply", "delete", "record", "write", "save_repository"),
    *("install", "upgrade", "rollback", "uninstall"),
}
WRITING_CLASSES = {KubeClient, EventRecorder, StatusWriter, HelmEngine}


def test_the_list_of_writing_methods_is_about_real_ones() -> None:
    names = {name for each in WRITING_CLASSES for name in dir(each)}
    assert WRITING_METHODS - names == {"save_repository"}


@pytest.mark.parametrize("name", [each.name for each in fields(ObserverContext)])
def test_dependencies_of_the_observer_have_no_writing_methods(name: str) -> None:
    hint = typing.get_type_hints(ObserverContext)[name]
    found = typing.get_origin(hint) or hint
    assert not WRITING_METHODS & set(dir(found))
    returned = {method.__annotations__.get("return") for method in vars(found).values() if inspect.isfunction(method)}
    assert not returned & {each.__name__ for each in WRITING_CLASSES}


@pytest.mark.parametrize("module", [observe, labels, release_inputs, drift, object_comparison])
def test_modules_of_the_observer_import_no_writing_class(module: object) -> None:
    assert inspect.ismodule(module)
    tree = ast.parse(inspect.getsource(module))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported
    assert not imported & {each.__name__ for each in WRITING_CLASSES}


def test_status_draft_cannot_be_changed_in_place() -> None:
    draft = StatusDraft.from_status(xapp(), now=time.time())
    with pytest.raises(FrozenInstanceError):
        draft.attempt = None  # type: ignore[misc]
