"""Secrets at the bounds of what is looked for in texts: the first character, the last line, one character too many."""

from __future__ import annotations

import pytest

from xapp_operator.domain.masking.secret_formats import find_in_formats
from xapp_operator.domain.masking.secret_keys import is_secret_key, is_secret_scalar
from xapp_operator.domain.masking.text_secrets import is_value_of_option, mask_secrets, masked_lines

LONG_LIST = "a, " * 665  # of 1,995 characters


def marked(text: str) -> str:
    return mask_secrets(text, lambda secret: f"«{secret}»")


def unmarked(text: str) -> str:
    return text.replace("«", "").replace("»", "")


@pytest.mark.parametrize(
    "text",
    [
        "--password «s3cr3t»",
        "-password «s3cr3t»",
        'run --password "«s3 cr3t»" x',
        "--token  --verbose",
        "--password=",
        "-p s3cr3t --name x",
        "curl --user=me:«s3cr3t» x",
        "curl -u 'me:«s3cr3t»' x",
    ],
)
def test_options_are_found_anywhere(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "value: plain\n",
        "value: plain\nname: MODE\n",
        "name: MODE\nvalue: plain\n",
        "name: PASSWORD\nport: 1\nvalue: plain\n",
        "value: plain\nport: 1\nname: PASSWORD\n",
        "name: PASSWORD\nvalue: «s3cr3t»\nvalue: plain\n",
        "value: «s3cr3t»\nname: PASSWORD\nvalue: plain\n",
        "- value: «s3 cr3t & more»\n  name: PASSWORD\n",
    ],
)
def test_a_value_is_a_secret_only_beside_the_name_of_one(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "sig=abcdef\n",
        "code=abcdef\n",
        "key=name\n",
        "keyPassword=«s3cr3t»\n",
        "https://h/?SIG=«s3cr3t»&x=1",
        "https://h/x?a=b&key=«s3cr3t;y»",
        "https://h/?token=«s3cr3t» more",
        "https://h/?name=plain",
    ],
)
def test_some_keys_are_secret_in_a_query_only(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "token: «8080»",
        "token=«8080»",
        "a/token=«latest»",
        '{"token":«8080»}',
        "token:65536",
        "token:8080/x",
        "token:«123456»",
        "a/token:latest",
        "token:«latest»",
    ],
)
def test_a_port_or_the_tag_of_an_image_is_no_secret(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        f"token: [«{LONG_LIST}b c»]\nx: 1\n",  # the bracket is the 2,000th character
        f"token: «[{LONG_LIST}b, c]»\nx: 1\n",
        "token: «[a, b»\nhost: db\n",
        "token: []\nhost: db\n",
        "token:[«a»]",
        "password: {a: b}\n",
    ],
)
def test_lists_are_secret_up_to_their_end(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "password = <<EOT\n«s3cr3t\nmore»\n",
        "password = <<EOT\n«s3cr3t\nmore»",
        "password = <<-EOT\n«  s3cr3t»  \n\nEOT\nx = 1\n",
        'password: """«s3cr3t\nmore»',
        "password='''«s3cr3t»'''\nx",
        'password: "«s3cr3t»\nmore: 1\n',
        'password: \\"«s3cr3t»\nmore: 1\n',
        "password: '«s3»'",
        'password: "«s3»""«cr»"',
        'password: "«s3»"\n"more"',
        'password: "«s3»"\'',
        "password: '«s3»'\"",
        "password:\n  «s3cr3t»\n  «more»\nhost: db\n",
        "  password:\n  - «s3cr3t»\n- other\n",
        "password:\n- «s3cr3t»\n- «other1»\nhost\n",
        "password:\nplain\n",
        "tokens:\n  - name: x\n    a: b\n",
        "password:\n\n",
        "password: |\n\n  «s3cr3t»\nhost: db\n",
        "password: |2 # c\n  «s3cr3t\n\n  more»\n\nhost: db\n",
        "  password: >\n  s3cr3t\n",
        "password: |\ns3cr3t\n",
    ],
)
def test_a_secret_of_several_lines_ends_with_its_text(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "password: «two words»",
        "a password: «two» words",
        f"{' ' * 200}password: «two words»\n",
        f"{' ' * 201}password: «two» words\n",
        f"\n{' ' * 199}password: «two words»\n",
        f"\n{' ' * 200}password: «two» words\n",
        "export TOKEN=«two words»\n",
        "; password = «two words»\n",
        "{a: 1, password: «two words», b: 2}",
        '{"a": 1, password: «two words»}',
        "x=1 password=«s3cr3t»,host=db",
        "{a: 1, password:«two» words}",
        f"{{{' ' * 8}password: «two words»}}",
        f"a{{{' ' * 9}password: «two» words}}",
        "Authorization: «Basic abc def»\n",
        "curl -H Authorization:«abc def»",
    ],
)
def test_a_plain_value_ends_where_its_notation_says(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "https://a23456789012345@host",
        "https://«a234567890123456»@host",
        "http://a:«b:c»@host",
        "http://a@b:«c»@host",
        "http://:@host",
    ],
)
def test_a_long_user_without_a_password_is_a_token(text: str) -> None:
    assert marked(unmarked(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "<password>plain <b> words</b>",
        "<password> «s3cr3t» </password>",
        "<b></b><password><![CDATA[«s3cr3t</password>»",
        "<token></token><name>x</name>",
        "me:«s3cr3t»@tcp(db)/x",
        "me@tcp(db)/x",
    ],
)
def test_secrets_of_other_formats_end_with_them(text: str) -> None:
    assert marked(unmarked(text)) == text


def test_an_element_around_others_has_at_most_4096_characters() -> None:
    inner = "<a>" + "x" * 4079 + "</a>"  # with the closing tag, 4,096
    assert marked(f"<password>{inner}</password>") == f"<password>«{inner}»</password>"
    assert marked(f"<password>y{inner}</password>") == f"<password>y{inner}</password>"


def test_a_login_of_go_has_at_most_512_characters() -> None:
    assert list(find_in_formats(f"user:{'p' * 511}@tcp(db)/x")) == [(5, 516)]
    assert list(find_in_formats(f"user:{'p' * 512}@tcp(db)/x")) == []


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--password", "x", True),
        ("-password", "x", True),
        ("--password", "--x", False),
        ("--password", "-x", True),
        ("--password", "$(X)", False),
        ("--name", "x", False),
        ("-u", "me:x", True),
        ("--user", "me:x", True),
        ("-u", "me", False),
        ("--name", "me:x", False),
        (None, "x", False),
        ("password", "x", False),
    ],
)
def test_the_value_of_an_option_is_told_from_the_next_option(option: object, value: str, expected: bool) -> None:
    assert is_value_of_option(option, value) is expected


def test_masked_lines_say_what_they_stand_for() -> None:
    text = "a: 1\npassword: s3 cr3t\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb: 2"
    assert masked_lines(text, "*") == [
        ("a: 1", "a: 1"),
        ("password: *", "password: s3 cr3t"),
        ("*", "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----"),
        ("b: 2", "b: 2"),
    ]
    assert masked_lines("token: x", "*") == [("token: *", "token: x")]
    assert masked_lines("", "*") == [("", "")]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("ki", 999_999_999, False),
        ("ki", 1_000_000_000, True),
        ("ki", "x", True),
        ("ki", True, False),
        ("ki", None, False),
        ("subscriberKi", "x", True),
        ("k", "0123456789abcdef0123456789abcdef", True),
        ("k", " 0x0123456789abcdef0123456789abcdef ", True),
        ("k", "0123456789abcdef0123456789abcde", False),
        ("", "x", False),
        ("name", "0123456789abcdef0123456789abcdef", False),
    ],
)
def test_the_key_of_a_subscriber_is_told_by_its_value(key: str, value: str | int | bool | None, expected: bool) -> None:
    assert is_secret_scalar(key, value) is expected


def test_of_a_long_key_the_last_256_characters_count() -> None:
    assert is_secret_key("password" + "x" * 248)
    assert not is_secret_key("password" + "x" * 249)
