"""Threat: a text of some KB makes a regular expression run for minutes, and the event loop with it.

Every regular expression of the package is tested. One that is added must get a row here.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest

import xapp_operator
from tests.security.growth import assert_linear, repeat

PACKAGE: Final = Path(xapp_operator.__file__).parent

FOREIGN: Final[dict[str, tuple[str, ...]]] = {
    "api.json.LONE_SURROGATE": ("\ud800",),
    "charts.archives.archive_reader._PARSED_FILES": ("charts/", "a/charts/a/"),
    "charts.archives.archive_reader._DRIVE_LETTER": ("c:",),
    "charts.archives.inspection._ALIAS_PATTERN": ("a-",),
    "charts.archives.inspection._KNOWN_DRAFT": ("http://json-schema.org/",),
    "charts.archives.tar_reader._DECIMAL": ("1",),
    "charts.chart_request._DIGEST_PATTERN": ("sha256:", "0"),
    "charts.signatures.trusted_keys._PEM_BLOCK": ("-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\na", "a\n"),
    "charts.signatures.trusted_keys._PEM_PRIVATE": ("-----BEGIN ", "A ", "-"),
    "charts.signatures.trusted_keys._PGP_BLOCK": (
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\na: b\n",
        "a\n",
        "=abcd\n",
    ),
    "charts.sources.oci_reference.DIGEST_PATTERN": ("sha256:0",),
    "charts.sources.oci_reference._NAME_PATTERN": ("a--", "a__", "a.a/"),
    "charts.sources.oci_reference._TAG_PATTERN": ("a.",),
    "charts.sources.registry_tags._STRICT_VERSION_PATTERN": ("1.", "1.2.3-"),
    "charts.sources.registry_tags._NEXT_LINK": ("<", "<a>", "<a>;", "<a> ", '<a>; rel="'),
    "charts.sources.registry_auth._CHALLENGE_PART": ("a", 'a="', 'a="\\', "a =", "basic "),
    "charts.sources.registry_auth._ESCAPED": ("\\", "\\a"),
    "charts.versions._VERSION": ("1", "1.", "1.2.3-a.", "1.2.3+a-"),
    "charts.versions._OPERAND_PARTS": ("1", "x.", "1-a.", "1+a."),
    "charts.versions._COMPARISON": (" ", ">", "1", "~ ", "1-a."),
    "charts.versions._SEPARATOR": (" ", ", ", ","),
    "charts.versions._HYPHEN_RANGE": (" ", "1", "1-", "1 ", "1 - ", "1.1-a ", "v", "x.x-1."),
    "cli.rollback_target.RESTORED": ("Rollback to ", "0"),
    "config.settings._LABEL": ("a", "a-", "-"),
    "domain.bounded_json._TOKEN": ('"', '"\\', '\\"', "[", '"a'),
    "domain.control_characters._IN_NAME": ("\x00",),
    "domain.control_characters._IN_NAME_RUN": ("\x00", "\x00a"),
    "domain.control_characters._IN_TEXT": ("\x00",),
    "domain.control_characters._LONE_SURROGATE": ("\ud800",),
    "domain.drift._POINTER": ("/a", "/", "~0", "/~1"),
    "domain.drift._INDEX": ("0", "1"),
    "domain.health.revisions._PROGRESS_OF_REPLICASET": ('ReplicaSet "', 'ReplicaSet "a', '"a" '),
    "domain.naming._LABEL_VALUE": ("a-", "_"),
    "domain.naming._NON_ALPHANUMERIC": ("-", "a-"),
    "domain.masking.secret_formats.FORMAT_HINT": ("@", "<", "com"),
    "domain.masking.secret_formats._XML_TAG": ("<", "<a", "<a ", "<a>", "<a> ", "<password>"),
    "domain.masking.secret_formats._XML_PROPERTY": ("<", "<name>", "<name>a", "<key>a</key>", "<name>a</name><value>"),
    "domain.masking.secret_formats._DIRECTIVE": (
        *("rocommunity ", "com2sec ", "com2sec a ", "com2sec -Cn ", "com2sec -Cn a a a ", "trapsink ", "trapsink a "),
        *("snmp-server ", "snmp-server community ", "sshpass -p", "sshpass -p a ", 'requirepass "', "requirepass 'a"),
    ),
    "domain.masking.secret_formats._LINE_DIRECTIVE": (
        "wpa-psk ",
        "createuser ",
        "createuser -e ",
        "createuser a ",
        "\r",
    ),
    "domain.masking.secret_formats._NETRC": (
        *("machine ", "machine a ", "default ", "default login a ", "default login a login a password "),
        *("login a ", "password ", "default password a"),
    ),
    "domain.masking.secret_formats._GO_ADDRESS": ("@", "@a", "@a("),
    "domain.masking.secret_formats._BEFORE_LOGIN": ("a", " ", "a:"),
    "domain.masking.secret_formats._LOGIN": ("auth", "auth ", "auth:", 'auth" ', "auth: abc", "basic_", "basicauth="),
    "domain.masking.secret_formats._COOKIE": (
        "cookie",
        "cookie:",
        "cookie: a",
        "set-",
        "--cookie ",
        'cookie" ',
        "cookie:a=b\n",
    ),
    "domain.masking.secret_keys._WORD": ("A", "a", "Aa", "AAa"),
    "domain.masking.secret_keys._SECRET": ("private", "token", "tokeniz"),
    "domain.masking.secret_keys._SECRET_WORD": ("pass",),
    "domain.masking.secret_keys._KEY_128_BIT": ("0", "a"),
    "domain.masking.secret_keys._DESCRIPTIVE_WORD": ("name",),
    "domain.masking.text_secrets._HINT": ("pass", "key", "://", "Bearer "),
    "domain.masking.text_secrets._ASSIGNMENT": ("password", "a ", 'a"', "a=", "password: ", '"password" : '),
    "domain.masking.text_secrets._OPTION": ("--", "-", "--a", "--password ", "-u "),
    "domain.masking.text_secrets._USER_OPTION": ("-u ", "--user=", "--user "),
    "domain.masking.text_secrets._ONLY_OPTION": ("-", "--a"),
    "domain.masking.text_secrets._QUOTE": ('"', "\\"),
    "domain.masking.text_secrets._TRIPLE_QUOTE": ('"', "'"),
    "domain.masking.text_secrets._HEREDOC": ("<<", "<<EOT ", "<<'E", "<<a"),
    "domain.masking.text_secrets._TO_ENTRY_END": ("a", " ", ","),
    "domain.masking.text_secrets._OPENS_ENTRY": ("{", ", ", " "),
    "domain.masking.text_secrets._QUOTED": ('"\\', "\\", '"a'),
    "domain.masking.text_secrets._SINGLE_QUOTED": ("'", "''", "a''", "'a", "'\\''", "\\''", "'a'\\''\n"),
    "domain.masking.text_secrets._TO_LINE_END": ("a", " ", "\\"),
    "domain.masking.text_secrets._TO_QUOTE": ("a", '"', "\\"),
    "domain.masking.text_secrets._TO_SEPARATOR": ("a", ",", ";"),
    "domain.masking.text_secrets._TO_QUERY_END": ("a", "&"),
    "domain.masking.text_secrets._SCALAR": (" ", "|", "a"),
    "domain.masking.text_secrets._BLOCK_HEADER": ("|", "|1", " "),
    "domain.masking.text_secrets._LINE": ("a", " ", "\n"),
    "domain.masking.text_secrets._ITEM": ("- ", " "),
    "domain.masking.text_secrets._NAME_IN_VALUE": ("a", "a=", " "),
    "domain.masking.text_secrets._LINE_PREFIX": (" ", "- ", "export "),
    "domain.masking.text_secrets._PORT": ("1",),
    "domain.masking.text_secrets._REFERENCE": ("${", "$(", "a"),
    "domain.masking.text_secrets._AUTHORITY": ("://", "://a", "://a:", "://a:a@", "a:"),
    "domain.masking.text_secrets._WEBHOOK": ("https://hooks.", "https://hooks.slack.com/services/", "/"),
    "domain.masking.text_secrets._BEARER": ("Bearer ", "bearer a "),
    "domain.masking.text_secrets._BASIC": ("Basic ", "Basic a", "Basic ="),
    "domain.masking.text_secrets._TOKEN": ("a.", "eyJ", "eyJa.", "ghp_"),
    "domain.masking.text_secrets._PEM_BEGIN": ("-----BEGIN ", "-----BEGIN A PRIVATE KEY-----", "-"),
    "domain.masking.text_secrets._PEM_END": ("-----END ", "-----END A PRIVATE KEY-----", "-"),
    "domain.chart_values.values_text._COMMENT": ("#", " #", "a#", "# \n"),
    "domain.chart_values.yaml_scalars._DECIMAL_INTEGER": ("1", "+"),
    "domain.chart_values.yaml_scalars._PREFIXED_INTEGER": ("0", "0x0"),
    "domain.chart_values.yaml_scalars._FLOAT": ("1", "1.", "1e"),
    "domain.chart_values.yaml_scalars._LEADING_DOT_FLOAT": (".1", ".1_", "_1"),
    "domain.chart_values.yaml_scalars._TIMESTAMP": ("0", "2001-01-01 0", ":"),
    "domain.chart_values.yaml_values._UNSAFE_IN_YAML": ("\x7f",),
    "gateway.auth.session_cookies._SEALED": ("gAAAA",),
    "gateway.catalog.label_selector._TERM": ("a", " ", "!", "a in (", "a in (a,", "a=", "a "),
    "gateway.catalog.xapp_sources._CHART_LABEL": ("a-", "a-1.0", "-1."),
    "gateway.http.requests.validation._DNS_LABEL": ("a-",),
    "gateway.http.requests.preconditions._VERSION": ("1", "0123abcd-", "0123abcd-0123-0123-0123-0123456789ab/"),
    "gateway.http.requests.preconditions._UID": ("a-",),
    "gateway.deploy.forms._TOO_LARGE_MESSAGE": ("Too long: ", "may not be "),
    "gateway.http.responses.problems._PROXY_ROUTE": (
        "/api/",
        "/api/xapps/",
        "/api/xapps/a/a/",
        "/api/xapps/a/a/proxy/a/a",
    ),
    "gateway.http.requests.query._INTEGER": ("1", "-"),
    "gateway.http.requests.query._NUMBER": ("1", "1."),
    "gateway.proxy.headers._HEADER_NAME": ("a",),
    "gateway.proxy.headers._CONTROL_CHARACTER": ("a", "\x01"),
    "gateway.proxy.location_rewriter._ENCODED_DOT": ("%2e", "%2"),
    "gateway.proxy.location_rewriter._NOT_VISIBLE_ASCII": (" ", "ä"),
    "gateway.http.requests.paths._NEEDS_CHECK": ("a", "/", "//"),
    "gateway.http.requests.paths._ESCAPE": ("%", "%2"),
    "gateway.http.requests.paths._CONTROL": ("\x01",),
    "gateway.proxy.paths._NOT_VISIBLE_ASCII": (" ",),
    "gateway.http.requests.paths._BAD_ESCAPE": ("%", "%2", "%20"),
    "gateway.repositories.browsing._TIME": ("2001-01-01T00:00:00.1", "0"),
    "gateway.repositories.browsing._ICON_URL": ("https://", "a"),
    "gateway.repositories.writes._USER_INFO": ("https://", "a", "https://a"),
    "gateway.repositories.writes._CONTROL": ("\x01",),
    "gateway.routes.discovery._PORT_NAME": ("a-",),
    "gateway.routes.docs._EXPRESSIBLE_HOST": ("a.", "a-", "["),
    "gateway.xapps.logs.log_responses._TIMESTAMP": ("2001-01-01T00:00:00.1", "0"),
    "gateway.xapps.logs.log_responses._EVENT_ID": ("2001-01-01T00:00:00.000000000Z#1", "0"),
    "gateway.xapps.logs.log_responses._LINE_BREAKS": ("\r", "\r\n"),
    "gateway.routes.xapps.release_details._REVISION": ("1",),
    "gateway.xapps.logs.log_target._RFC3339": ("2001-01-01T00:00:00.1", "0"),
    "gateway.xapps.pods.POD_NAME": ("a-",),
    "gateway.xapps.release_records._RELEASE_NAME": ("a-",),
    "helm.results.error_rules._FORBIDDEN": (
        'User "',
        'User "a" cannot ',
        'User "a" cannot a resource "',
        '" in API group "',
    ),
    "helm.engine._VERIFIED": ("Signed by: ", "Using Key With Fingerprint: ", "\nSigned by: a\n"),
    "gateway.http.audit._OBJECT_NAME": ("a-", "a."),
    "gateway.http.requests.paths._PAGE_PATH": ("xapps/", "a/", "repositories/a/b/..", "\n"),
    "helm.releases.release_storage._OWN_DESCRIPTION": ("Rollback to ", "0"),
    "helm.results.error_rules._RELEASE_NOT_FOUND": ("release: not found",),
    "helm.results.error_rules._EXECUTION_ERROR": (
        "execution error at (",
        "execution error in ()",
        "execution error at ()",
    ),
    "helm.results.error_rules._TEMPLATE_FAILURE": ('executing "', 'no template "', 'no template "" associated '),
    "helm.results.error_rules._RECORD_STEP": ("create: failed to ",),
    "helm.labelling.manifest_labels._METADATA": ("metadata:", "metadata:\n"),
    "helm.labelling.manifest_labels._NEXT_MEMBER": ("\n", " \n", "#"),
    "helm.labelling.manifest_labels._OWN_MEMBERS": (
        *(", ", 'xapp-operator.io/team: "', 'xapp-operator.io/team: "a', '\\"', "\\"),
        *('xapp-operator.io/team: ""', 'xapp-operator.io/team: "", ', ', xapp-operator.io/team: ""'),
    ),
    "helm.labelling.manifest_labels._EMPTY_MEMBERS": (", ", "labels: ", "labels: {}", "labels: {}, ", ", labels: {}"),
    "helm.labelling.manifest_labels._OWN_LINES": (
        "  labels:\n",
        "    xapp-operator.io/xapp: a\n",
        "  labels:\n    xapp-operator.io/xapp: a\n",
    ),
    "helm.labelling.post_rendering._FAILED": (
        *("error while running post ", "error merging manifests:"),
        'for "--post-renderer" flag: plugin:',
    ),
    "helm.manifest._SEPARATOR": ("---", "--- ", "---\n"),
    "helm.releases.release_storage._SECRET_NAME": ("sh.helm.release.v1.a", ".v1"),
    "helm.releases.release_storage._TIME": ("2001-01-01T00:00:00.1", "0"),
    "helm.releases.release_storage._JSON_STRING": ('"', '"\\', '\\"'),
    "helm.processes.runner._GO_RUNTIME_CRASH": ("\nSIG", "SIGA", "\nfatal error:"),
    "helm.results.schema_errors._CHART_LINE": ("a", "a-"),
    "helm.results.schema_errors._VIOLATION_LINE": (" ", "- at '", "- at '\\'", "- at '': "),
    "helm.results.schema_messages._QUOTED": ("'", "'\\", "\\'"),
    "helm.results.schema_messages._LEADING_VALUE": ("'", "'\\'", "a", "a does not match pattern "),
    "helm.results.schema_messages._FORMAT_CAUSE": ("is not valid ", "is not valid a: "),
    "helm.results.schema_messages._BOUND": ("a: got ", "a: got a, want "),
    "helm.results.schema_messages._GO_NUMBER": ("1", "1,000", ",000", "1.0", "1\u00d710", "\u00d710⁰⁶"),
    "helm.results.stderr._ERROR": ("Error: ", "\nError: "),
    "helm.results.stderr._STEP_PREFIX": ("UPGRADE FAILED: ",),
    "helm.results.stderr._LOG_LINE": ("level=", 'level=A msg="', 'level=A msg="\\"', "level=A msg=a"),
    "helm.results.stderr._DELETE_ERROR": ('msg="uninstall: Failed to delete release" error="[', '"', '\\"'),
    "helm.results.stderr._LAST_WORD": ("a", " ", "a "),
    "helm.results.stderr._FIRST_WORD": ("a", " "),
    "helm.results.stderr._GO_ESCAPE": ("\\", "\\a"),
    "helm.results.stderr._LOCAL_PATH": ("/", "/a", "/a/", "/a+", "@/"),
    "kube.api_errors._ADMISSION": (
        *(
            'admission webhook "',
            'admission webhook "a" denied the ',
            "policy '",
            "policy 'a' with binding '",
            'policy "',
        ),
        *("policy 'a' denied request", "policy 'a' denied request: "),
    ),
    "kube.api_errors.ADMISSION_NOT_READY": (" is forbidden: ", " is forbidden: not yet "),
    "kube.api_errors._GO_VALUE": ("expected ", "expected a", "expected a, got "),
    "kube.api_errors._INVALID_VALUE": (
        *("Invalid value: ", 'Invalid value: "', 'Invalid value: "\\"', "Invalid value: {", "Invalid value: {}"),
        *("Invalid value: [", "Invalid value: []", "Invalid value: {: ", "Duplicate value: a", "Invalid value: a["),
        *("Invalid value: 1", "Invalid value: 1 "),
    ),
    "kube.api_errors.MISSING_RIGHT": ('User "', 'User "\\', 'User "a" cannot ', 'User "a" cannot get resource "'),
    "kube.transport._TOKEN_PATTERN": ("a",),
    "label_sets.LABEL_KEY": ("a.", "a/", "a-"),
    "label_sets.LABEL_VALUE": ("a.", "a-"),
}
"""Regular expressions over text from outside, with what is repeated to make them slow."""

OWN_TEXT: Final = {
    "domain.planning.actions._WORD_START": "names of our own actions",
    "gateway.http.responses.problems._CAMEL_CASE_BOUNDARY": "names of our own error classes",
    "helm.results.error_rules._ERROR_RULES": "helm's error cut to MESSAGE_MAX_CHARACTERS; tested as error_from_stderr",
}
IN_FUNCTIONS: Final = {
    "api.rules.pattern_rule": "patterns of our own resource definitions, over fields of bounded length",
    "api.rules.parse_duration": "after a rule of at most 32 characters has matched",
    "gateway.xapps.health.events.__init__": "names of Kubernetes objects, at most 253 characters, escaped",
    "gateway.xapps.health.events._created_name_patterns": "names of Kubernetes objects, escaped",
    "gateway.repositories.changes.prepare_update": "names of Kubernetes objects, escaped",
    "gateway.xapps.pods.read_pods": "names of Kubernetes objects, escaped",
    "gateway.xapps.pods._list_cron_job_pods": "names of Kubernetes objects, escaped",
}
"""Functions that compile a regular expression themselves, and why their text is bounded."""

GENERIC_UNITS: Final = ("a", "0", " ", "\n", '"', "\\", "'", "(", "[", "{", ":", "-", ".", "/", "a a", "aA", "0-", "a.")
PREFIXES: Final = ("", "a", "0")


@cache
def modules_with_patterns() -> Mapping[str, ast.Module]:
    found: dict[str, ast.Module] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "re." in source:
            name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(source)
    return found


def uses_re(node: ast.AST) -> bool:
    calls = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split", "escape"}
    return any(
        isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "re"
        and each.attr in calls
        for each in ast.walk(node)
    )


def found_patterns() -> tuple[set[str], set[str]]:
    """Return the constants, and the functions, that make a regular expression."""
    constants: set[str] = set()
    functions: set[str] = set()
    for module, tree in modules_with_patterns().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and uses_re(node):
                functions.add(f"{module}.{node.name}")
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
            if uses_re(node):
                constants |= {f"{module}.{each.id}" for each in targets if isinstance(each, ast.Name)}
    return constants, functions


def methods_used(name: str) -> set[str]:
    module, _, constant = name.rpartition(".")
    tree = modules_with_patterns()[module]
    used = {
        each.attr
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == constant
    }
    return used & {"search", "match", "fullmatch", "finditer", "findall", "sub", "split"} or {"finditer"}


_SHORTCUT: Final[dict[str, Any]] = {"lengths": (4096, 16_384, 65_536), "enough_seconds": 0.5e-3}
"""A search in quadratic time takes more than ten times as long for the shortest of these lengths."""


def test_every_regular_expression_is_in_a_table() -> None:
    constants, functions = found_patterns()
    assert constants == FOREIGN.keys() | OWN_TEXT.keys()
    assert functions == IN_FUNCTIONS.keys()


@pytest.mark.parametrize("source", ["from re import compile", "from re import compile as c", "import re as r"])
def test_re_is_used_by_its_own_name_only(source: str) -> None:
    assert imports_re_otherwise(ast.parse(source))
    assert not [module for module, tree in modules_with_patterns().items() if imports_re_otherwise(tree)]


def imports_re_otherwise(tree: ast.Module) -> bool:
    return any(
        (isinstance(each, ast.ImportFrom) and each.module == "re")
        or (isinstance(each, ast.Import) and any(name.name == "re" and name.asname for name in each.names))
        for each in ast.walk(tree)
    )


@pytest.mark.parametrize("name", FOREIGN)
def test_a_regular_expression_takes_linear_time(name: str) -> None:
    module, _, constant = name.rpartition(".")
    pattern = getattr(importlib.import_module(f"xapp_operator.{module}"), constant)
    own = FOREIGN[name]
    units = dict.fromkeys((*own, *GENERIC_UNITS))
    for method in sorted(methods_used(name)):
        for prefix in dict.fromkeys((*PREFIXES, *own)):
            for unit in units:
                make = repeat(prefix, unit, "\x00")
                what = f"{name}.{method} of {prefix!r} and {unit!r} again and again"
                assert_linear(partial(run, pattern, method), make, what=what, **_SHORTCUT)


def run(pattern: re.Pattern[str] | re.Pattern[bytes], method: str, text: str) -> None:
    subject = text.encode("utf-8", "surrogatepass") if isinstance(pattern.pattern, bytes) else text
    if method in {"finditer", "findall"}:
        for _ in pattern.finditer(subject):  # type: ignore[arg-type]
            pass
    elif method == "sub":
        pattern.sub(subject[:0], subject)  # type: ignore[arg-type]
    else:
        getattr(pattern, method)(subject)
