"""The blocking clients' loop: results, errors, time-outs, Ctrl-C, forks, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading

import pytest

from tidelog.client.admin.blocking import Admin
from tidelog.client.consumer.blocking import Consumer
from tidelog.client.loop_thread import LoopThread
from tidelog.common.errors import ErrorCode, KafkaError, UsageError


@pytest.fixture
def loop():
    made = LoopThread("tidelog-test")
    yield made
    made.close(10)
    assert "tidelog-test" not in {thread.name for thread in threading.enumerate()}


async def value(result):
    await asyncio.sleep(0)
    return result


async def raises(error):
    raise error


def test_clients_cannot_be_pickled(loop):
    with pytest.raises(TypeError, match="clients cannot be pickled: make one in each process"):
        pickle.dumps(loop)
    with Admin(bootstrap_servers="localhost:1") as admin, pytest.raises(TypeError, match="clients cannot be pickled"):
        pickle.dumps(admin)


def test_closing_clients_in_a_child_after_a_fork_is_quiet():
    servers = {"bootstrap.servers": "localhost:1"}
    clients = [Consumer(servers), Admin(servers)]
    child = os.fork()
    if not child:
        try:
            for client in clients:
                client.close()
        except BaseException:  # the child must not go on with the tests
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for client in clients:
        client.close()


def test_it_starts_with_the_first_use(loop):
    assert "tidelog-test" not in {thread.name for thread in threading.enumerate()}
    assert loop.run(value(5)) == 5
    assert "tidelog-test" in {thread.name for thread in threading.enumerate()}


def test_errors_are_ours(loop):
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        loop.run(raises(KafkaError(ErrorCode.NOT_COORDINATOR)))
    with pytest.raises(TimeoutError, match="its own"):
        loop.run(raises(TimeoutError("its own")), timeout=60)


def test_what_takes_too_long_is_cancelled(loop):
    cancelled = threading.Event()

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(KafkaError, match=r"not done within 0\.01 seconds") as late:
        loop.run(forever(), timeout=0.01)
    assert late.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert cancelled.wait(60)


def test_ctrl_c_interrupts_at_once_and_cancels(loop):
    begun, cancelled = threading.Event(), threading.Event()

    async def forever():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupt():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        loop.run(forever())
    assert cancelled.wait(60)
    thread.join()
    assert loop.run(value("goes on")) == "goes on"


def test_many_threads_at_once(loop):
    results = []
    threads = [threading.Thread(target=lambda n=n: results.append(loop.run(value(n)))) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(20))


def test_it_runs_between_two_calls(loop):
    ticked = threading.Event()

    async def tick():
        await asyncio.sleep(0.01)  # a timer of the loop, which nobody calls meanwhile
        ticked.set()

    future = loop.start(tick())
    assert ticked.wait(60)
    assert future.result(60) is None


def test_functions_are_called_on_its_thread(loop):
    names, done = [], threading.Event()

    def note(word):
        names.append((word, threading.current_thread().name))
        done.set()

    loop.call(note, "hello")
    assert done.wait(60)
    assert names == [("hello", "tidelog-test")]


def test_a_callback_that_would_wait_for_itself_is_told(loop):
    async def main():
        loop.run(value(1))

    with pytest.raises(UsageError, match="must not wait for its own client"):
        loop.run(main())


def test_closing_cancels_what_is_under_way(loop):
    cleaned = threading.Event()

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    future = loop.start(forever())
    loop.run(value(1))
    loop.close(60)
    assert cleaned.is_set()
    assert future.cancelled()
    loop.close(60)
    with pytest.raises(UsageError, match="the client is closed"):
        loop.run(value(1))
    with pytest.raises(UsageError, match="the client is closed"):
        loop.call(print)


def test_whoever_waits_when_another_thread_closes_is_told_so(loop):
    begun, told = threading.Event(), []

    async def forever():
        begun.set()
        await asyncio.Event().wait()

    def wait():
        with pytest.raises(UsageError) as closed:
            loop.run(forever())
        told.append(str(closed.value))

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert begun.wait(60)
    loop.close(60)
    waiting.join(60)
    assert told == ["the client was closed meanwhile"]


def test_closing_what_was_never_used():
    unused = LoopThread()
    unused.close(1)
    assert unused.is_closed


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_after_a_fork_says_so_at_once(loop):
    loop.run(value(1))
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            loop.run(value(2))
            text = "it hung or worked"
        except UsageError as error:
            text = str(error)
        loop.close(1)
        os.write(writable, text.encode())
        os._exit(0)
    os.close(writable)
    assert os.waitpid(child, 0)[1] == 0
    text = os.read(readable, 1000).decode()
    os.close(readable)
    assert text == f"this client was made in process {os.getpid()}, before the fork: make a new one in each child"
    assert loop.run(value(3)) == 3, "the parent goes on"
