"""The diff between the objects of a release and those of a change."""

from __future__ import annotations

import re

from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.gateway.xapps.release.manifest_diff import (
    LINES_COMPARED_MAX,
    ObjectChange,
    compare_manifests,
    manifest_diff,
)


def configmap(name: str, *lines: str) -> str:
    data = "".join(f"  {line}\n" for line in lines)
    head = f"---\n# Source: x/templates/{name}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
    return f"{head}data:\n{data}"


def secret(value: str) -> str:
    return f"---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData:\n  a: {value}\n  b: hunter22\n"


def test_equal_objects_have_no_diff_whatever_their_order() -> None:
    one, two = configmap("one", "a: b"), configmap("two", "a: b")
    assert manifest_diff(one + two, two + "\n" + one) == ""


def test_a_changed_line_is_shown_with_its_object() -> None:
    diff = manifest_diff(configmap("one", "a: b", "c: d"), configmap("one", "a: e", "c: d"))
    assert diff.startswith("--- a/v1 ConfigMap one\n+++ b/v1 ConfigMap one\n@@ ")
    assert "-  a: b\n+  a: e\n   c: d\n" in diff


def test_added_and_removed_objects_are_shown_completely() -> None:
    diff = manifest_diff(configmap("old", "a: b"), configmap("new", "a: b"))
    assert "--- /dev/null\n+++ b/v1 ConfigMap new\n" in diff
    assert "--- a/v1 ConfigMap old\n+++ /dev/null\n" in diff


def test_without_a_release_everything_is_new() -> None:
    assert manifest_diff("", configmap("new", "a: b")).count("\n+") == 7


def test_hooks_are_left_out() -> None:
    hook = "---\nkind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: test}}\n"
    assert manifest_diff("", hook) == ""


def test_a_changed_secret_is_shown_as_changed_but_masked() -> None:
    diff = manifest_diff(secret("first-one"), secret("second-one"))
    assert "first-one" not in diff
    assert "second-one" not in diff
    before, after = re.findall(rf'^[-+]  a: "{MASK} \((\w+)\)"$', diff, re.MULTILINE)
    assert before != after
    assert "hunter22" not in diff
    assert diff.count("\n-") == diff.count("\n+") - 1 == 1
    assert manifest_diff(secret("same"), secret("same")) == ""


def test_a_changed_secret_inside_a_text_is_shown_as_changed() -> None:
    one, two = configmap("c", "u: say first-one"), configmap("c", "u: say second-one")
    diff = manifest_diff(one, two, secrets=["first-one", "second-one"])
    before, after = re.findall(rf"^[-+]  u: say {MASK} \((\w+)\)$", diff, re.MULTILINE)
    assert before != after


def test_masks_of_two_diffs_cannot_be_compared() -> None:
    diffs = {manifest_diff(secret("first-one"), secret("second-one")) for _ in range(2)}
    assert len(diffs) == 2


def test_a_diff_contains_no_known_secret() -> None:
    before, after = configmap("one", "url: at hunter22"), configmap("one", "url: at hunter33")
    assert "hunter" not in manifest_diff(before, after, secrets={"hunter22", "hunter33"})


def test_large_objects_are_shown_as_replaced() -> None:
    lines = [f"k{n}: {n % 7}" for n in range(LINES_COMPARED_MAX + 100)]
    before, after = configmap("big", *lines), configmap("big", *reversed(lines))
    diff = manifest_diff(before, after)
    assert diff.count("@@ -") == 1
    assert len(diff.splitlines()) > 2 * LINES_COMPARED_MAX
    assert re.search(r"^@@ -(\d+),(\d+) \+\1,\2 @@$", diff, re.MULTILINE)


def test_one_change_in_a_large_object_is_one_change() -> None:
    lines = [f"k{n}: {n}" for n in range(LINES_COMPARED_MAX + 100)]
    changed = [*lines[:1000], "k1000: x", *lines[1001:]]
    assert len(manifest_diff(configmap("big", *lines), configmap("big", *changed)).splitlines()) == 11


def test_equal_secrets_have_equal_masks_wherever_their_object_stands() -> None:
    block = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: |\n    first-one\n"
    other = configmap("one", "a: b")
    assert manifest_diff(f"{block}\n{other}", f"{other}{block.rstrip()}") == ""


def test_each_object_has_its_change() -> None:
    kept = configmap("kept", "a: b").replace(
        "{name: kept}", "{name: kept, namespace: other, annotations: {helm.sh/resource-policy: keep}}"
    )
    hook = "---\nkind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: test}}\n"
    before = configmap("same", "a: b") + configmap("old", "a: b") + configmap("changed", "a: b") + kept + hook
    changes = compare_manifests(before, configmap("changed", "a: c") + configmap("same", "a: b") + secret("x"))
    found = [(each.kind, each.namespace, each.name, str(change)) for each, change in changes.objects]
    assert found == [
        ("ConfigMap", "", "same", "unchanged"),
        ("ConfigMap", "", "old", "remove"),
        ("ConfigMap", "", "changed", "change"),
        ("ConfigMap", "other", "kept", "unchanged"),
        ("Secret", "", "s", "create"),
    ]


def test_how_the_yaml_is_written_is_no_change() -> None:
    head = "---\n# Source: hello/templates/a.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  name: one\n"
    by_hand = f"{head}spec:\n  containers:\n    - name: core\n      image: 'a'\n      args: [x, y] # both\n"
    by_helm = f"{head}spec:\n  containers:\n  - name: core\n    image: 'a'\n    args: [x, y]\n"
    assert manifest_diff(by_hand, by_helm) == ""
    assert [change for _, change in compare_manifests(by_hand, by_helm).objects] == [ObjectChange.UNCHANGED]
    diff = manifest_diff(by_hand, by_helm.replace("'a'", "'b'"))
    assert [line for line in diff.splitlines() if re.match(r"[-+] ", line)] == ["-    image: 'a'", "+    image: 'b'"]
    # A text is no number.
    assert manifest_diff(configmap("one", "a: '1'"), configmap("one", "a: 1")) != ""
