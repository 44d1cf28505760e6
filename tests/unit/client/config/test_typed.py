"""The keys as types are those that are declared, and the file is what its tool renders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from tidelog.client.config import admin, consumer, producer, typed
from tidelog.client.config.parsing import ClientKeys

ROOT = Path(__file__).resolve().parents[4]
KINDS = {"Producer": producer.KEYS, "Consumer": consumer.KEYS, "Admin": admin.KEYS}


def test_the_file_is_what_the_declarations_say() -> None:
    tool = ROOT / "tools" / "render_client_config.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("kind", "keys"), KINDS.items())
def test_every_key_has_a_type_under_both_names(kind: str, keys: ClientKeys) -> None:
    assert set(get_type_hints(getattr(typed, f"{kind}Config"))) == set(keys.keys)
    assert set(get_type_hints(getattr(typed, f"{kind}Keywords"))) == {name.replace(".", "_") for name in keys.keys}


def test_types() -> None:
    hints = get_type_hints(typed.ProducerConfig)
    assert hints["linger.ms"] == int | str
    assert hints["transactional.id"] == str | None
    assert "'all', '-1', '0', '1', -1, 0, 1" in str(hints["acks"])
