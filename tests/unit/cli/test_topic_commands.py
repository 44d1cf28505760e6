"""`tidelog topics`, `produce`, `consume` against a broker in this process, as a user types them."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tidelog.cli.main import main
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"num.partitions": "1"}) as broker:
        yield broker


@pytest.fixture
def run(broker, capsysbinary, monkeypatch):
    """`run("topics", "list") → (status, stdout, stderr)`."""
    monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVER", broker.address)

    def call(*words: str, given: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        status = main(list(words))
        out, err = capsysbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


def test_a_topic_is_created_listed_described_and_deleted(run):
    assert run("topics", "create", "life", "-p", "2", "--config", "retention.ms=5000")[0] == 0
    assert "life" in run("topics", "list")[1]
    described = json.loads(run("topics", "describe", "life", "--json")[1])
    assert described["configs"] == {"retention.ms": "5000"}
    assert [p["partition"] for p in described["partitions"]] == [0, 1]
    assert (
        described["partitions"][0] | {"leader": 1, "replicas": [1], "start": 0, "end": 0} == described["partitions"][0]
    )
    assert run("topics", "delete", "life") == (0, "Deleted life.\n", "")
    assert run("topics", "delete", "life", "--if-exists")[0] == 0


def test_mistakes_are_explained(run):
    run("topics", "create", "orders")
    status, _, err = run("topics", "create", "orders")
    assert (status, "already exists. --if-not-exists takes it as it is." in err) == (1, True)
    assert "Did you mean retention.ms?" in run("topics", "create", "x", "--config", "retntion.ms=5")[2]
    status, out, _ = run("topics", "create", "orders", "--if-not-exists")
    assert (status, out) == (0, "orders is there already, with 1 partition.\n")
    assert "did you mean orders?" in run("topics", "describe", "ordres")[2]
    assert "did you mean orders?" in run("consume", "ordres")[2]
    assert "expected key=value" in run("topics", "create", "x", "--config", "retention.ms")[2]
    assert "retention.ms" in run("topics", "create", "x", "--config", "retention.ms=soon")[2]
    assert "expected beginning, end" in run("consume", "orders", "--from", "yonder")[2]
    assert "orders has only partition 0, not 3" in run("consume", "orders", "-p", "3")[2]
    assert "orders has only partition 0, not 3. 0 rec" in run("produce", "orders", "-p", "3", given=b"x\n")[2]
    assert run("consume", "orders", "-n", "-1")[0] == 2
    assert "holds the offsets" in run("consume", "orders", "--from", "77")[2]


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "list"),
        ("topics", "create", "t"),
        ("topics", "describe"),
        ("topics", "delete", "t"),
        ("produce", "t"),
        ("consume", "t"),
    ],
    ids=" ".join,
)
def test_nobody_there_is_said_plainly_and_at_once(run, words, monkeypatch):
    """No command has a client's patience at its start."""

    async def no_second_try(seconds):
        raise AssertionError(f"waits for {seconds} s before it tries again")

    monkeypatch.setattr("tidelog.client.cluster.client.pause", no_second_try)
    status, _, err = run(*words, "-b", "127.0.0.1:1", given=b"x\n")
    assert status == 1
    assert "cannot connect to 127.0.0.1:1" in err


def test_topics_of_tools_are_listed_when_asked_for(run):
    run("topics", "create", "__of_a_tool", "plain")
    for words in (("topics", "list"), ("topics", "describe")):
        out = run(*words)[1]
        assert ("plain" in out, "__of_a_tool" in out) == (True, False), words
    assert "__of_a_tool" in run("topics", "list", "--internal")[1]
    assert "__of_a_tool" in run("topics", "describe", "__of_a_tool")[1]
    run("topics", "delete", "__of_a_tool", "plain")


def test_an_old_format_says_what_to_do(run):
    with Broker(config={"inter.broker.protocol.version": "2.8"}) as old:
        there = ("-b", old.address)
        run("topics", "create", "old", "--config", "message.format.version=0.10.2", *there)
        status, _, err = run("produce", "old", *there, given=b"x\n")
        assert status == 1
        assert "set its message.format.version to 0.11.0 or later" in err
        assert run("produce", "old", "--acks", "1", *there, given=b"x\n")[::2] == (0, "1 record written to old.\n")


def test_lines_go_in_and_come_out(run):
    status, _, err = run("produce", "lines", given="one\ntwo\n\nfür\n".encode())
    assert (status, err) == (0, "4 records written to lines.\n")
    assert run("consume", "lines", "--from", "beginning", "--exit")[1] == "one\ntwo\n\nfür\n"
    assert run("consume", "lines", "--from", "-1", "--exit")[1] == "für\n"
    assert run("consume", "lines", "--from", "1", "-n", "1")[1] == "two\n"
    assert run("consume", "lines", "--exit")[1] == ""
    assert run("consume", "lines", "--from", "2020-01-01", "--exit")[1] == "one\ntwo\n\nfür\n"
    assert run("consume", "lines", "--from", "2120-01-01T00:00:00+01:00", "--exit")[1] == ""


def test_a_wrong_line_loses_none_before_it(run):
    status, _, err = run("produce", "wrong", "-k", ":", given=b"a:1\nb:2\nnokey\nc:3\n")
    assert status == 2
    assert "line 3 has no key: expected KEY:VALUE. 2 records before it written." in err
    assert run("consume", "wrong", "--from", "beginning", "--exit")[1].split() == ["1", "2"]


def test_reading_nothing_is_explained(run):
    run("produce", "quiet", given=b"a\n")
    status, out, err = run("consume", "quiet", "--exit")
    assert (status, out) == (0, "")
    assert "--from beginning" in err
    assert run("consume", "quiet", "--exit", "--from", "beginning") == (0, "a\n", "")


@pytest.mark.parametrize("command", ["topics create", "topics list", "topics describe", "topics delete", "produce"])
def test_help_has_examples(run, command):
    status, out, _ = run(*command.split(), "--help")
    assert status == 0
    assert "Examples:" in out


def test_keys_headers_and_nulls(run):
    given = b"a:1,b:2\tk1=v1\n\tNIL=NIL\n"
    assert run("produce", "keyed", "-k", "=", "--headers", "--null", "NIL", "-H", "c=3", given=given)[0] == 0
    out = run(
        "consume", "keyed", "--from", "beginning", "--exit", "--keys", "--headers", "--separator", "|", "--null", "-"
    )[1]
    assert out == "a:1,b:2,c:3|k1|v1\nc:3|-|-\n"
    status, _, err = run("produce", "keyed", "-k", "=", given=b"nothing\n")
    assert (status, "line 1 has no key" in err) == (2, True)


def test_json_round_trip(run):
    record = {"key": "k", "value": {"base64": "/w=="}, "headers": [["h", "x"], ["h", None]], "timestamp": 1234}
    assert run("produce", "json", "--json", given=json.dumps(record).encode() + b"\n")[0] == 0
    line = json.loads(run("consume", "json", "--from", "beginning", "--exit", "--json")[1])
    assert {name: line[name] for name in record} == record
    assert (line["topic"], line["partition"], line["offset"]) == ("json", 0, 0)
    assert "is no JSON" in run("produce", "json", "--json", given=b"{\n")[2]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec(run, codec):
    given = b"".join(b"%d\n" % i for i in range(5000))
    assert run("produce", f"c-{codec}", "--compression", codec, given=given)[0] == 0
    assert run("consume", f"c-{codec}", "--from", "beginning", "--exit")[1].encode() == given


def test_serve_help_and_mistakes(run, tmp_path):
    assert "server.properties" in run("serve", "--help")[1]
    assert "No such option" in run("serve", "--nonsense")[2]
    assert "expected key=value" in run("serve", "--set", "x", "--data-dir", str(tmp_path))[2]
    assert "expected HOST:PORT" in run("serve", "--listen", "x", "--data-dir", str(tmp_path))[2]
    assert "Value must be at least 1" in run("serve", "--set", "num.partitions=0", "--data-dir", str(tmp_path))[2]


def test_what_is_not_there_is_said_at_once(run):
    status, _, err = run("topics", "delete", "nothing")
    assert (status, "There is no topic nothing" in err) == (2, True)


def test_nobody_at_the_address(run):
    status, _, err = run("topics", "list", "-b", "127.0.0.1:1")
    assert status == 1
    assert "cannot connect to 127.0.0.1:1 (TCP): Connection refused. Is a broker running at 127.0.0.1:1, and" in err
    assert "Name or service not known" in run("topics", "list", "-b", "nobody.invalid:9092")[2]


def test_counts_are_english(run):
    assert run("topics", "create", "single", "-p", "1")[1] == "Created single with 1 partition.\n"
    assert run("produce", "single", given=b"a\n")[2] == "1 record written to single.\n"
    assert run("produce", "single", given=b"a\nb\n")[2] == "2 records written to single.\n"


def test_json_lines_with_fields_that_mean_nothing_are_refused(run):
    run("topics", "create", "fields")

    def said(line: str) -> str:
        status, _, err = run("produce", "fields", "--json", given=line.encode())
        assert status == 2
        return err

    assert "line 1: unknown field 'vlaue'; did you mean 'value'? 0 records before it written.\n" in said(
        '{"vlaue": "x"}'
    )
    assert "unknown field 'colour'; a record has key, value, headers, partition, timestamp" in said('{"colour": 1}')
    assert 'line 1 has no value; "value": null' in said('{"key": "k"}')
    assert "partition is '0', not a whole number" in said('{"value": "x", "partition": "0"}')
    assert "headers are neither" in said('{"value": "x", "headers": ["a"]}')
    assert run("consume", "fields", "--from", "beginning", "--exit")[1] == "", "nothing was written"
    line = b'{"topic": "t", "offset": 7, "partition": 0, "timestamp": 5, "key": null, "value": null, "headers": []}'
    assert run("produce", "fields", "--json", given=line)[0] == 0, "what `consume --json` prints"
