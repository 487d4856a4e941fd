"""A manifest is shown with its own text, without secrets."""

from __future__ import annotations

import re

import pytest

from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.helm.manifest_masking import mask_documents, mask_manifest, mask_text

SECRET = """\
---
# Source: hello/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata:
  name: hello   # stays
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data": "hunter2"}'
type: Opaque
data:
  user: aHVudGVyMg==
  empty: ""
stringData:
  "a key": 'hunter2'
  file: |
    hunter2
    hunter2

  folded: >-
    hunter2
  é: hunter2
# after
immutable: true
"""
SHOWN = f"""\
---
# Source: hello/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata:
  name: hello   # stays
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "{MASK}"
type: Opaque
data:
  user: "{MASK}"
  empty: "{MASK}"
stringData:
  "a key": "{MASK}"
  file: "{MASK}"

  folded: "{MASK}"
  é: "{MASK}"
# after
immutable: true
"""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  automountServiceAccountToken: false
  containers:
  - name: web
    env:
    - name: DB_PASSWORD
      value: hunter2
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: web, key: token}}
    - {name: PLAIN, value: plain}
  volumes:
  - name: certificate
    secret: {secretName: web, items: [{key: tls.crt, path: cert}], defaultMode: 420}
  - name: token
    projected:
      sources: [{serviceAccountToken: {path: token, expirationSeconds: 600}}]
"""


def test_only_the_data_of_a_secret_is_masked() -> None:
    assert mask_manifest(SECRET) == SHOWN


def test_secret_looking_keys_are_masked_and_references_stay() -> None:
    assert mask_manifest(POD) == "---" + POD.replace("hunter2", f'"{MASK}"')


@pytest.mark.parametrize(
    "manifest",
    [
        "kind: Secret\ndata: {a: hunter2}",
        "kind: List\nitems:\n- kind: Secret\n  data: {a: hunter2}\n",
        "kind: List\nitems: [{kind: List, items: [{kind: Secret, stringData: {a: hunter2}}]}]\n",
        '"kind": "\\x53ecret"\ndata:\n  a: hunter2\n',
        "x: &a {k: hunter2}\nkind: Secret\ndata: *a\n",
        "x: &a {k: hunter2}\nkind: Secret\ndata: {<<: *a}\n",
        "kind: Secret\ndata: {a: hunter2}\ndata: {a: b}\n",
        "kind: Secret\ndata: {a: hunter2}\nkind: ConfigMap\n",
        "kind: Secret\ndata: {a: hunter2}\n...\nkind: ConfigMap\n",
        "kind: Secret\ndata: {a: hunter2}\r---\nkind: ConfigMap\n",
        "kind: Secret\ndata: {a: hunter2}\u2028---\nkind: ConfigMap\n",
        "kind: Secret\ndata: {a: hunter2}\nx: [\n",
        "kind: Secret\n? [hunter2]\n: x\n",
        "kind: Secret\ndata: !!binary hunter2\n",
        "kind: Secret\ndata: [[hunter2]]\n",
        "--- {kind: Secret, data: {a: hunter2}}\n",
        "kind: Secret\r\ndata:\r\n  a: hunter2\r\n",
        "kind: ConfigMap\ndata: {url: 'http://me:hunter2@here/'}\n",
        "hunter2\n",
        "[hunter2]\n",
    ],
)
def test_a_secret_is_masked_in_every_notation(manifest: str) -> None:
    assert "hunter2" not in mask_manifest(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        "kind: Secret\na: " + "[" * 50_000,
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '*a'] * 10)}]\n" for n in range(8)),
        "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 600)),
    ],
)
def test_a_manifest_that_takes_too_long_is_withheld(manifest: str) -> None:
    assert "withheld" in mask_manifest(manifest)


def test_the_property_names_of_a_crd_are_not_masked() -> None:
    text = "kind: CustomResourceDefinition\nspec: {password: {type: string, description: the password}}\n"
    assert mask_manifest(text) == "---" + text


def test_a_document_of_comments_stays() -> None:
    assert mask_manifest("---\n# nothing here\n") == "---\n# nothing here\n"


def test_documents_have_names_and_a_hook_flag() -> None:
    text = "kind: A\nmetadata: {name: x, annotations: {helm.sh/hook: test}}\n---\napiVersion: apps/v1\nkind: B\n"
    text += "metadata: {name: y, namespace: z}"
    found = list(mask_documents(text))
    assert [(each.name, each.is_hook) for each in found] == [("A x", True), ("apps/v1 B z/y", False)]
    assert all(each.text.endswith("\n") for each in found)


def test_masks_of_different_secrets_can_differ() -> None:
    (found,) = mask_documents("kind: Secret\ndata: {a: b, c: d, e: b}\n", make_mask=str.upper)
    assert re.findall(r'"(.*?)"', found.text) == ["B", "D", "B"]


def test_known_secrets_are_removed_from_texts() -> None:
    secrets = {"hunter2", "ab"}
    assert mask_text("log in with hunter2 (ab)", secrets=secrets) == f"log in with {MASK} (ab)"
    assert "hunter2" not in mask_manifest("kind: ConfigMap\ndata: {file: 'is hunter2'}\n", secrets=secrets)
