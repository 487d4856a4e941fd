"""Helm's standard error: errors, warnings, and lines that are left out."""

from xapp_operator.helm.results.stderr import error_text, parse_warnings, presentable_message


def test_log_lines_and_prefixes_are_not_part_of_the_error() -> None:
    stderr = 'level=WARN msg="upgrade failed" name=x error="no"\nError: UPGRADE FAILED: first line\nsecond line\n'
    assert error_text(stderr) == "first line\nsecond line"


def test_warnings_are_unquoted_and_reported_once() -> None:
    stderr = (
        'level=WARN msg="this chart is deprecated"\nlevel=WARN msg="this chart is deprecated"\n'
        'level=WARN msg="said \\"so\\"" urn=urn:x\nlevel=INFO msg="something else"\nlevel=DEBUG msg=noise\n'
    )
    assert parse_warnings(stderr) == ("this chart is deprecated", 'said "so"')


def test_values_are_removed_from_warnings() -> None:
    stderr = (
        'level=INFO msg="warning: cannot overwrite table with non table for hello.t.a (map[b:s3cr3t])"\n'
        'level=INFO msg="warning: destination for hello.t.c is a table. Ignoring non-table value (a (b) c)"\n'
    )
    assert parse_warnings(stderr) == (
        "cannot overwrite table with non table for hello.t.a",
        "destination for hello.t.c is a table. Ignoring non-table value",
    )


def test_warnings_are_bounded() -> None:
    stderr = "".join(f'level=WARN msg="{n}{"x" * 900}"\n' for n in range(1000))
    assert len(parse_warnings(stderr)) == 20
    assert max(len(warning) for warning in parse_warnings(stderr)) == 500


def test_values_that_the_api_server_quotes_are_left_out() -> None:
    text = (
        'metadata.name: Invalid value: "my \\"s3cr3t\\" name": must be lower case, spec.x: Unsupported value: "s3": no'
    )
    assert (
        presentable_message(text) == "metadata.name: Invalid value: must be lower case, spec.x: Unsupported value: no"
    )


def test_kinds_and_addresses_are_not_mistaken_for_local_paths() -> None:
    text = (
        "object ric/x apps/v1, Kind=Deployment: Get https://10.0.0.1:443/api/v1/x failed, see hello/templates/a.yaml:2"
    )
    assert presentable_message(text) == text


def test_a_long_error_keeps_its_beginning_and_its_cause_at_the_end() -> None:
    text = presentable_message(f"template a.yaml:1: {'error calling include: ' * 5000}the cause")
    assert text.startswith("template a.yaml:1: error")
    assert text.endswith("error calling include: the cause")
    assert len(text) == 2000
