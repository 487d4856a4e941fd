"""The marks of shell blocks in the documents."""

from pathlib import Path

from tests.support.shell_blocks import Block, fixtures, steps, unmarked_shell_blocks

PAGE = """\
# Page

1. A step:

    ```yaml title="folder/file.yaml"
    a: 1
    ```

    <!-- Run: some_run -->
    ```sh
    cat folder/file.yaml
    ```

    ```text
    a: 1
    ```

<!-- Illustration: it needs a registry. -->
```sh
docker push
```

```text
not the output of a step
```
"""


def test_the_steps_of_a_page_are_files_scripts_and_their_output(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    assert steps(path) == [
        Block(kind="file", text="a: 1\n", title="folder/file.yaml"),
        Block(kind="script", text="cat folder/file.yaml\n"),
        Block(kind="output", text="a: 1\n"),
    ]
    assert fixtures(PAGE) == {"some_run"}


def test_marked_blocks_are_accepted() -> None:
    assert unmarked_shell_blocks(PAGE) == []
    page = "<!-- Shell blocks of this page are illustrations: they need a cluster. -->\n```sh\nls\n```\n"
    assert unmarked_shell_blocks(page) == []


def test_blocks_without_a_mark_or_without_a_reason_are_found() -> None:
    assert unmarked_shell_blocks("text\n\n```sh\nls\n```\n\n- item\n\n    ```console\n    $ ls\n    ```\n") == [3, 9]
    assert unmarked_shell_blocks("<!-- Illustration:  -->\n```sh\nls\n```\n") == [2]
    assert unmarked_shell_blocks(PAGE.replace("<!-- Run: some_run -->", "<!-- run it -->")) == [10]
