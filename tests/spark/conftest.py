"""One Spark session and one broker for all Spark tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from support.spark import Lab
from support.tidelog import TidelogServer
from tidelog.spark.session import tidelog_session

#: Tasks may fail once: that is how Spark retries them on a cluster.
MASTER = "local[2,2]"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogServer]:
    with TidelogServer(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Lab]:
    foreign = os.environ.get("TIDELOG_TEST_KAFKA")  # host:port=data-directory of an Apache Kafka to test against
    if foreign is not None:
        address, _, data = foreign.partition("=")
    else:
        server: TidelogServer = request.getfixturevalue("server")
        address, data = server.address, str(server.data)
    tests = str(Path(__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))  # for the workers
    warehouse = tmp_path_factory.mktemp("warehouse")
    settings = {"spark.sql.warehouse.dir": str(warehouse), "spark.driver.memory": "1g"}
    spark = tidelog_session("tests", master=MASTER, settings=settings)
    spark.sparkContext.setLogLevel("OFF")
    yield Lab(spark, address, Path(data), f"t{os.getpid()}")
    spark.stop()
