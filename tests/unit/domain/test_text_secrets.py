"""Secrets inside texts are found, in linear time, and a partly masked text is restored."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.json import JsonObject
from xapp_operator.domain.redaction import MASK, redact, secret_texts, unmask
from xapp_operator.domain.text_secrets import find_secrets, mask_secrets
from xapp_operator.errors import ValuesInvalid

BASIC = base64.b64encode(b"me:s3cr3t").decode()
PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGl\n-----END EC PRIVATE KEY-----"
HEX = "465B5CE8B199B49FAA5F0A2EE238A6BC"

SECRETS = [
    ("password: «s3cr3t»", "a line of YAML"),
    ("db:\n  password: «s3cr3t»\n  host: db\n", "a nested line"),
    ("- password: «s3 cr3t»  \n", "an item; the value has a space"),
    ("DB_PASSWORD=«s3cr3t»\nMODE=on\n", "an env file"),
    ("export DB_PASSWORD='«s3cr3t»'\n", "a shell script"),
    ("[db]\npassword = «s3cr3t»\n", "an INI file"),
    ("spring.datasource.password=«s3cr3t»\r\nx=1\r\n", "properties"),
    ("# password: «s3cr3t»", "a comment"),
    ('{"user": "me", "password": "«s3\\"cr3t»", "port": 1}', "JSON"),
    ('{\\"password\\":\\"«s3cr3t»\\",\\"port\\":1}', "JSON in JSON"),
    ("{user: me, password: «s3cr3t», port: 1}", "flow YAML"),
    ("password: |\n  «s3cr3t\n  and more»\nhost: db\n", "a block scalar"),
    ("tokens:\n  - «s3cr3t»\n  - «other1»\nhost: db\n", "a list"),
    ("tokens: [«s3cr3t, other1»]\n", "a flow list"),
    ("- name: DB_PASSWORD\n  value: «s3cr3t»\n- name: MODE\n  value: on\n", "an environment variable"),
    ("- value: «s3cr3t»\n  name: DB_PASSWORD\n- value: on\n  name: MODE\n", "an environment variable, its value first"),
    ('[{"value": "«s3cr3t»", "name": "DB_PASSWORD"}, {"value": "on", "name": "MODE"}]', "the same in JSON"),
    ("- name: MODE\n  value: on\n- name: DB_PASSWORD\n  value: «s3cr3t»\n", "a variable after another one"),
    ('password = """«\ns3cr3t\n»"""\nmode = "on"\n', "TOML with several lines"),
    ("password = <<EOT\n«s3cr3t\nand more»\nEOT\nmode = 1\n", "HCL with several lines"),
    ("DB_PASSWORD='«s3»'\"«cr3t»\" run", "words that a shell joins"),
    ("{password: «two words», user: me}", "words in flow YAML"),
    ("PASSWORD ?= «s3cr3t»\nPASSWORD += «other1»\n", "a Makefile"),
    ("CREATE USER me IDENTIFIED BY «'s3cr3t'»;", "SQL"),
    ("user=me password=«s3cr3t» host=db", "a DSN of libpq"),
    ("Server=db;Password=«s3cr3t»;Encrypt=yes", "a connection string"),
    ("run --token=«s3cr3t» --verbose", "an option with ="),
    ("run --db-password «s3cr3t» --verbose", "an option"),
    ("run --password '«s3 cr3t»'", "a quoted option"),
    ("curl -u me:«s3cr3t» https://host", "the user of curl"),
    ('curl -H "Authorization: «Bearer s3cr3t»" https://host', "a header"),
    ("Authorization: «Basic s3cr3t»\nAccept: x", "a header in a line"),
    ("send Bearer «abcdefgh123456» please", "a bearer token"),
    (f"send Basic «{BASIC}» please", "basic credentials"),
    ("X-Api-Key: «s3cr3t»", "another header"),
    ("https://me:«s3cr3t»@host/path", "user info"),
    ("redis://:«s3cr3t»@host", "a password without a user"),
    ("https://«0123456789abcdef»@host", "a token as the user"),
    ("https://host/hook?x=1&token=«s3cr3t»&y=2", "a query"),
    ("https://host/hook?sig=«s3cr3t»", "a signature in a query"),
    ("https://host/hook?key=«s3cr3t»", "a key in a query"),
    ("https://hooks.slack.com/services/«T000/B000/s3cr3t»", "Slack"),
    ("https://discord.com/api/webhooks/12345/«s3cr3t»", "Discord"),
    ("https://api.telegram.org/bot«123:s3cr3t/sendMessage»", "Telegram"),
    ("https://x.webhook.office.com/webhookb2/«s3cr3t@y/IncomingWebhook/z»", "Teams"),
    ("https://mm.example/hooks/«abcdefghijklmnop1234567»", "Mattermost"),
    ("https://events.pagerduty.com/integration/«s3cr3t/enqueue»", "PagerDuty"),
    ("call with «ghp_0123456789abcdefghij0123» now", "a token of GitHub"),
    ("«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlIHNlY3JldA»", "a JWT"),
    (f"cert\n«{PEM}»\nmore", "a private key"),
    (f"«{PEM[:40]}", "a private key without an end"),
    (f"ki: «{HEX}»\nimsi: 001010000000001\n", "the key of a SIM"),
    (f'"OPc": "«{HEX}»"', "the operator code"),
    (f"k: «{HEX}»", "a key named k"),
    ("snmpCommunity: «s3cr3t»", "an SNMP community"),
    ("psk = «s3cr3t»", "a pre-shared key"),
    ("tokenId: «s3cr3t»\nsecret_id: «s3cr3u»\n", "halves of credentials"),
    ("password: '«it''s secret»'\nhost: db\n", "a quote in YAML"),
    ("password: '«s3cr3t»'\nother: ''\nmore: 'x'\n", "an empty text after it"),
    ("run --password '«it'\\''s s3cr3t»' --verbose", "a quote in a shell"),
    ("password: '«s3cr3t'' and more»\nhost: db\n", "a quote that is never closed"),
    ("<db><user>me</user><password>«s3cr3t»</password></db>", "an XML element"),
    ('<ns:dbPassword xml:space="preserve">\n «s3 cr3t»\n</ns:dbPassword>', "an element with attributes"),
    ("<snmp-community>«s3cr3t»</snmp-community><port>161</port>", "a community in XML"),
    ("<password><![CDATA[«s3<cr3t»]]></password>", "CDATA"),
    ("<password>«<plain>s3cr3t</plain>»</password>", "an element in an element"),
    (f"<keystorePassword>«{'x' * 5000}»</keystorePassword>", "a long element"),
    ("<name>fs.password</name>\n<value>«s3cr3t»</value>", "a property of Hadoop"),
    ('<add key="password" value="«s3cr3t»"/>', "a setting of .NET"),
    ("rocommunity «s3cr3t» 10.0.0.0/8\nrwcommunity6 «other1»\nsysName x\n", "snmpd.conf"),
    ("com2sec readonly default «s3cr3t»\ntrap2sink 10.0.0.1 «other1» 162\n", "other lines of snmpd.conf"),
    ("createUser me «SHA authpass AES privpass»\n", "a user of SNMP 3"),
    ("snmp-server community «s3cr3t» RO", "a router"),
    ("port 6379\nrequirepass «s3cr3t»\nmasterauth «'s3 cr3t'»\n", "redis.conf"),
    ("machine host login me password «s3cr3t»\nmachine other password «x» login me\n", ".netrc"),
    ("machine host\n  login me\n  password «s3cr3t»\n", ".netrc in lines"),
    ("me:«s3:cr@3t»@tcp(db:3306)/name and me:«x»@unix(/run/db)/name", "a data source name of Go"),
    ('{"auths":{"r.example":{"auth":"«bWU6czNjcjN0»"}}}', "the login of a registry"),
    ("//r.example/:_auth=«bWU6czNjcjN0»\nauth: «me:s3cr3t»\n", "logins in lines"),
    ("Cookie: «session=s3cr3t; id=1»\nAccept: x\n", "a cookie"),
    ('{"Set-Cookie": "«session=s3cr3t; Secure»"}', "a cookie in JSON"),
    ("curl --cookie '«session=s3cr3t»' https://host", "a cookie of curl"),
    ("sshpass -p «s3cr3t» ssh host", "sshpass"),
    ("wpa-psk «my s3cr3t»\nmtu 1500", "Wi-Fi"),
    ("«AKIAIOSFODNN7EXAMPLE» and «npm_abcdefghijklmnopqrstuvwxyz0123456789»", "keys of AWS and npm"),
    ("«sk-proj-abcdefghijklmnop_1234567890-x» and «AIzaSyA0123456789012345678901234567890»", "keys of models"),
]
PLAIN = [
    "nothing here",
    "password",
    "password: ",
    "password: true",
    "password=$(DB_PASSWORD)\ntoken=${TOKEN}",
    "--password=$DB_PASSWORD --token {{ .Values.token }}",
    "password: <your password>",
    "passwordFile: /etc/password",
    "tls:\n  key: name\nexistingSecret: mine\nsecretName: mine",
    "http://token-service:8080/path",
    "registry.example/secret-manager:1.2.3",
    "https://host:443/a@b",
    "ssh://git@github.com/x",
    "op: add\nk: v\nki: 0.5\nkp: 1",
    "basic authentication with bearer tokens",
    "-----BEGIN PUBLIC KEY-----\nMHcCAQEEIIGl\n-----END PUBLIC KEY-----",
    "<password></password><passwordFile>/etc/x</passwordFile>",
    "usage: login <token> <host>",
    "auth: basic\nauth: none\nauth: https://host/auth\nauth:\n  user: me\n",
    "cookie: true\ncookie: SESSION\nset the cookie",
    "the machine has a default password",
    "requirepass\nmail me@host (x)",
    "task-abcdefghijklmnopqrstuvwxyz AKIA",
    'env:\n- name: MODE\n  value: "on"\n',
]


def _marked(text: str) -> str:
    return mask_secrets(text, lambda secret: f"«{secret}»")


@pytest.mark.parametrize(("marked", "what"), SECRETS, ids=[what for _, what in SECRETS])
def test_a_secret_in_a_text_is_found(marked: str, what: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    assert _marked(text) == (marked if marked.count("«") == marked.count("»") else f"{marked}»")


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay_readable(text: str) -> None:
    assert _marked(text) == text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"args": ["--password", "s3cr3t", "-v"]}, {"args": ["--password", MASK, "-v"]}),
        ({"args": ["--token=s3cr3t"]}, {"args": [f"--token={MASK}"]}),
        ({"args": ["-u", "me:s3cr3t", "host"]}, {"args": ["-u", MASK, "host"]}),
        ({"args": ["--password", "$(PASSWORD)"]}, {"args": ["--password", "$(PASSWORD)"]}),
        ({"args": ["--token", "--verbose"]}, {"args": ["--token", "--verbose"]}),
        ({"psk": "a", "ki": HEX, "opc": HEX, "k": HEX}, {"psk": MASK, "ki": MASK, "opc": MASK, "k": MASK}),
        (
            {"snmpCommunity": "a", "tokenId": "b", "secretId": "c"},
            {"snmpCommunity": MASK, "tokenId": MASK, "secretId": MASK},
        ),
        ({"ueKi": HEX, "OPc": HEX, "op": HEX}, {"ueKi": MASK, "OPc": MASK, "op": MASK}),
        ({"pid": {"kp": 1, "ki": 0.5}, "op": "add", "k": 3}, {"pid": {"kp": 1, "ki": 0.5}, "op": "add", "k": 3}),
        ({"opc": {"endpoint": "opc.tcp://h:4840"}}, {"opc": {"endpoint": "opc.tcp://h:4840"}}),
        ({"config": "password: s3cr3t\nhost: db\n"}, {"config": f"password: {MASK}\nhost: db\n"}),
        ({"url": "https://hooks.slack.com/services/T0/B0/x"}, {"url": f"https://hooks.slack.com/services/{MASK}"}),
        ({"key.pem": PEM}, {"key.pem": MASK}),
        ({"Cookie": "session=a", "erlangCookie": "b"}, {"Cookie": MASK, "erlangCookie": MASK}),
        ({"cookie": {"name": "x", "secure": True}}, {"cookie": {"name": "x", "secure": True}}),
    ],
)
def test_values_are_redacted_inside_texts_and_lists(values: JsonObject, expected: JsonObject) -> None:
    assert redact(values) == expected
    assert unmask(expected, values) == values


CONFIG = f"[db]\nhost = a\npassword = s3cr3t\n[cache]\npassword = other1\nport = 1\n{PEM}\nend\n"
SHOWN = f"[db]\nhost = a\npassword = {MASK}\n[cache]\npassword = {MASK}\nport = 1\n{MASK}\nend\n"


@pytest.mark.parametrize(
    ("change", "restored"),
    [
        (("", ""), ("", "")),
        (("port = 1", "port = 2\nextra = 3"), ("port = 1", "port = 2\nextra = 3")),
        (("host = a", "host = b"), ("host = a", "host = b")),
        (("[db]", "[first]\nx = 1\n[db]"), ("[db]", "[first]\nx = 1\n[db]")),
        ((f"{MASK}\nend", f"{MASK}\nnew end"), (f"{PEM}\nend", f"{PEM}\nnew end")),
        (
            (f"password = {MASK}\n[cache]", "password = new\n[cache]"),
            ("password = s3cr3t\n[cache]", "password = new\n[cache]"),
        ),
    ],
)
def test_an_edited_text_keeps_its_secrets(change: tuple[str, str], restored: tuple[str, str]) -> None:
    assert redact({"config": CONFIG}) == {"config": SHOWN}
    assert unmask({"config": SHOWN.replace(*change)}, {"config": CONFIG}) == {"config": CONFIG.replace(*restored)}


@pytest.mark.parametrize(
    "text",
    [
        f"x: {MASK}",
        f"password: {MASK} (abc123)",
        f"[cache]\nhost = a\npassword = {MASK}\n[db]\nport = 1\npassword = {MASK}\nextra\n",  # which is which?
        SHOWN.replace("password =", "token ="),
        f"prefix{MASK}",
    ],
)
def test_a_mask_in_a_text_is_never_stored(text: str) -> None:
    with pytest.raises(ValuesInvalid) as refused:
        unmask({"config": text}, {"config": CONFIG})
    assert refused.value.errors[0].field == "values.config"
    with pytest.raises(ValuesInvalid):
        unmask({"new": [text]}, {"config": CONFIG})


def test_the_secrets_in_a_text_are_those_that_are_masked() -> None:
    assert secret_texts({"config": CONFIG}) == {"s3cr3t", "other1", PEM}


_WORDS = st.sampled_from(
    [
        "password",
        "token",
        "name",
        "value",
        ":",
        "=",
        " ",
        "\n",
        '"',
        "'",
        "\\",
        "|",
        "-",
        "--",
        "x",
        "s3cr3t",
        "@",
        "://",
        *(MASK, "[", "]", "{", "}", ",", "?", "&", "ki", HEX, "\r\n", "  ", "-----BEGIN PRIVATE KEY-----"),
        *(
            "<password>",
            "</password>",
            "<![CDATA[",
            "]]>",
            "requirepass",
            "machine",
            "me:s3cr3t@tcp(",
            "cookie",
            "auth",
        ),
    ]
)
TEXTS = st.lists(_WORDS, max_size=12).map("".join)


@given(TEXTS)
def test_any_redacted_text_is_restored(text: str) -> None:
    values: JsonObject = {"config": text}
    assert unmask(redact(values), values) == values


@given(TEXTS)
def test_spans_are_ordered_and_never_overlap(text: str) -> None:
    ends = [at for span in find_secrets(text) for at in span]
    assert ends == sorted(set(ends))
