"""The process that parses one large index: reads it from standard input, writes JSON lines to standard output.

`index_reader.py` starts it with bounds on memory, processor time and output, and without credentials. It opens no file
and no connection; where the kernel has Landlock, it cannot. Each line is a batch of `index_parser.py`; the last one is
`{"end": …}`, so that a process that was ended early is noticed.
"""

from __future__ import annotations

import sys

import orjson

from xapp_operator.charts.sources.index_parser import IndexRefused, IndexTooLarge, TooManyBytes, parse_index
from xapp_operator.common.sandboxed_exec import landlock_version, restrict_self


def main() -> None:
    """Parse; the argument is the maximum of unpacked bytes."""
    if landlock_version():
        restrict_self(read=(), write=())
    write = sys.stdout.buffer.write
    end = {"end": "complete", "reason": ""}
    try:
        for batch in parse_index(sys.stdin.buffer, max_bytes=int(sys.argv[1])):
            write(orjson.dumps(batch) + b"\n")
    except IndexRefused as error:
        end = {"end": "refused", "reason": str(error)}
    except TooManyBytes:
        end = {"end": "too many bytes", "reason": ""}
    except IndexTooLarge as error:
        end = {"end": "too large", "reason": str(error)}
    except MemoryError:
        end = {"end": "too large", "reason": "content that takes too much memory to parse"}
    write(orjson.dumps(end))


if __name__ == "__main__":
    main()
