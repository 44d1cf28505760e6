"""Tables in a pipe are plain columns, under --json one object per line."""

from __future__ import annotations

import json

import pytest

from tidelog.cli.output import Output, json_bytes, size_text, snake, text_of, time_text


def test_plain_columns_are_aligned_and_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows(["Topic", "Size"], [["a", 5], ["long", 1000]])
    assert capsys.readouterr().out == "Topic  Size\na         5\nlong   1000\n"


def test_numbers_with_gaps_are_still_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows(["Name", "First"], [("a", None), ("b", 7)])
    assert capsys.readouterr().out.splitlines() == ["Name  First", "a         -", "b         7"]


def test_json_is_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=True)
    out.rows(["Log end", "Key"], [[1, b"k"], [2, b"\xff"]])
    out.line("not shown")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"log_end": 1, "key": "k"}, {"log_end": 2, "key": {"base64": "/w=="}}]


def test_an_empty_table_and_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows(["Topic"], [])
    Output().record({"offset": 1, "key": None}, title="batch")
    assert capsys.readouterr().out == "Topic\nbatch\noffset  1\nkey     -\n"


def test_a_terminal_gets_a_drawn_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output()
    out.terminal = True
    out.rows(["State"], [["corrupt"], ["ok"]], title="verify")
    out.line("done", style="green")
    text = capsys.readouterr().out
    assert "verify" in text
    assert "corrupt" in text
    assert "done" in text


def test_a_narrow_terminal_gets_lines_of_pairs(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = Output()
    out.terminal = True
    out.rows(["Base offset", "Empty", "Topic"], [[5, None, "a" * 30], [6, None, "b"]])
    assert capsys.readouterr().out == f"base_offset=5 topic={'a' * 30}\nbase_offset=6 topic=b\n"
    out.rows(["Base offset", "Empty", "Topic"], [[6, None, "b"]])
    text = capsys.readouterr().out
    assert "Base offset" in text
    assert "Empty" not in text


def test_a_table_that_is_too_wide_comes_in_parts_behind_its_first_column(
    capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Output()
    out.terminal = True
    columns = ["Partition", "Size", "From", "To"]
    out.rows(columns, [["orders-0", 17, "2026-01-01T00:00", "2026-01-02T00:00"]])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert lines == [
        ["Partition", "Size", "From"],
        ["orders-0", "17", "2026-01-01T00:00"],
        ["Partition", "To"],
        ["orders-0", "2026-01-02T00:00"],
    ]
    out.rows(columns, [["orders-0", 17, "2026-01-01T00:00", "2026-01-02T00:00"]] * 31)
    assert capsys.readouterr().out.count("partition=orders-0 size=17 ") == 31


@pytest.mark.parametrize(("value", "styled"), [("", True), ("1", False)])
def test_without_colours_nothing_is_styled(
    capsys: pytest.CaptureFixture[str], monkeypatch, value: str, styled: bool
) -> None:
    """no-color.org: set, and not empty."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", value)
    out = Output()
    out.terminal = True
    out.rows(["State"], [["corrupt"]], title="verify")
    out.line("done", style="bold red")
    assert ("\x1b" in capsys.readouterr().out) is styled


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ""),
        (b"plain", "plain"),
        (b"\x00\x01", "0x0001"),
        (b"\xff" * 40, "0x" + "ff" * 30 + "…"),
        (b"x" * 80, "x" * 59 + "…"),
    ],
)
def test_bytes_as_people_read_them(data: bytes, expected: str) -> None:
    assert text_of(data) == expected


def test_small_texts() -> None:
    assert snake("Log-start Offset ") == "log_start_offset"
    assert [size_text(n) for n in (0, 1023, 1536, 5 << 30, 3 << 50)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 GiB",
        "3072.0 TiB",
    ]
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
    assert time_text(1_704_067_200_123) == "2024-01-01T00:00:00.123Z"
    assert time_text(-1) is None
    assert time_text(2**62) == f"{2**62} ms"
    assert json_bytes(None) is None
