"""Reads and rewrites Helm's records of a release, as a backup or another helm may leave them."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import datetime
from typing import Any

from tests.support.xapps import XAppClient


class UnreadableRecord(Exception):
    """The record of a revision is gone or damaged."""


def record_name(release: str, revision: int) -> str:
    """Return the name of the Secret that records a revision."""
    return f"sh.helm.release.v1.{release}.v{revision}"


def read_record(xapps: XAppClient, release: str, revision: int) -> dict[str, Any]:
    """Return the payload of a record.

    Raises:
        UnreadableRecord: when it is gone or damaged.
    """
    name = record_name(release, revision)
    secret = xapps.get("secret", name)
    if secret is None:
        raise UnreadableRecord(f"{name} is gone")
    return unpack_record(secret)


def unpack_record(secret: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of the Secret of a record. Raises UnreadableRecord."""
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
        payload: dict[str, Any] = json.loads(gzip.decompress(packed))
    except (OSError, ValueError) as error:
        raise UnreadableRecord(f"{secret['metadata']['name']} is damaged") from error
    return payload


def pack_record(payload: dict[str, Any]) -> str:
    """Return a payload as the Secret of a record holds it."""
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(payload).encode()))).decode()


def set_record_status(xapps: XAppClient, release: str, revision: int, status: str) -> None:
    """Change the status of a revision in payload and label."""
    payload = read_record(xapps, release, revision)
    payload["info"]["status"] = status
    write_record(xapps, release, revision, payload, status=status)


def write_record(xapps: XAppClient, release: str, revision: int, payload: dict[str, Any], **labels: str) -> None:
    """Replace the payload of a record, and some of its labels."""
    change = {"metadata": {"labels": labels}, "data": {"release": pack_record(payload)}}
    xapps.kubectl("patch", "secret", record_name(release, revision), "--type=merge", "-p", json.dumps(change))


def set_record_dates(xapps: XAppClient, release: str, revision: int, when: datetime) -> None:
    """Date a record, as a machine whose clock is wrong does."""
    payload = read_record(xapps, release, revision)
    written = when.isoformat()
    payload["info"] |= {"first_deployed": written, "last_deployed": written}
    seconds = str(int(when.timestamp()))
    write_record(xapps, release, revision, payload, createdAt=seconds, modifiedAt=seconds)


def copy_record(xapps: XAppClient, release: str, revision: int, name: str) -> None:
    """Copy a record to a Secret of another name, with its labels, as a backup that is restored wrongly may."""
    secret = xapps.get("secret", record_name(release, revision))
    assert secret is not None
    secret["metadata"] = {"name": name, "namespace": xapps.namespace, "labels": secret["metadata"]["labels"]}
    xapps.apply(secret)
