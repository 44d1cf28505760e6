"""Brings Apache Kafka's own jars from Maven into .cache/kafka/<version>/libs, for the tests that use it as oracle.

    python tools/kafka_jars.py 2.8.2 3.9.2 4.3.1      # brokers with their tools
    python tools/kafka_jars.py --clients 0.8.2.2 ...  # only the Java client of an era, in .cache/kafka-clients/

A version that is there already is not fetched again. Needs `mvn` and `java` on the PATH.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache"
KAFKA_2 = "2.8.2"
KAFKA_3 = "3.9.2"
KAFKA_4 = "4.3.1"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog.oracle</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""


def dependency(group: str, artifact: str, version: str) -> str:
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )


def broker_dependencies(version: str) -> list[str]:
    more = () if version.startswith("2.") else ("kafka-tools", "kafka-streams")
    kafka = [dependency("org.apache.kafka", artifact, version) for artifact in ("kafka_2.13", *more)]
    if version.startswith(("2.", "3.")):
        return [*kafka, dependency("org.slf4j", "slf4j-reload4j", "1.7.36")]
    return kafka + [
        dependency("org.apache.logging.log4j", artifact, "2.24.3")
        for artifact in ("log4j-slf4j-impl", "log4j-core", "log4j-1.2-api")
    ]


def client_dependencies(version: str) -> list[str]:
    return [dependency("org.apache.kafka", "kafka-clients", version), dependency("org.slf4j", "slf4j-nop", "1.7.36")]


def fetch(target: Path, dependencies: list[str]) -> Path:
    """Copy the dependencies' jars to `target/libs`; the directory appears whole or not at all."""
    libs = target / "libs"
    if libs.is_dir():
        return libs
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(POM.format(dependencies="".join(dependencies)))
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={scratch}/libs", "-DincludeScope=runtime"]
        subprocess.run(command, check=True, timeout=900, stdin=subprocess.DEVNULL)
        Path(scratch, "libs").rename(libs)
    return libs


def broker_libs(version: str) -> Path:
    return fetch(CACHE / "kafka" / version, broker_dependencies(version))


def client_libs(version: str) -> Path:
    return fetch(CACHE / "kafka-clients" / version, client_dependencies(version))


def missing_tool() -> str | None:
    """The name of a needed program that is not on the PATH."""
    return next((tool for tool in ("java", "mvn") if shutil.which(tool) is None), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=[KAFKA_2, KAFKA_3, KAFKA_4])
    parser.add_argument("--clients", action="store_true", help="only kafka-clients of these versions")
    arguments = parser.parse_args()
    if (tool := missing_tool()) is not None:
        sys.exit(f"{tool} is missing: apt-get install default-jdk-headless maven")
    for version in arguments.versions:
        print(client_libs(version) if arguments.clients else broker_libs(version))


if __name__ == "__main__":
    main()
