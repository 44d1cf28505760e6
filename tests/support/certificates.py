"""An authority of our own for tests with TLS, and what it signs: PEM files, made by the `openssl` command.

pki = Certificates(tmp_path)
server = pki.issue("broker", "localhost", "127.0.0.1")    # key and chain in one file, as Kafka's PEM key stores are
pki.authority                                              # what the other side trusts
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


class Certificates:
    def __init__(self, home: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed: apt-get install openssl")
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.authority = home / "authority.pem"
        self._openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=test authority",
        )  # fmt: skip

    def issue(self, name: str, *hosts: str, password: str | None = None) -> Path:
        """A PEM file with the private key (encrypted, if a password is given) and the chain of a certificate."""
        hidden = ["-passout", f"pass:{password}"] if password else ["-nodes"]
        self._openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *hidden,
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}",
        )  # fmt: skip
        names = ",".join(("IP:" if host[0].isdigit() else "DNS:") + host for host in hosts or (name,))
        (self.home / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
            "-CAcreateserial", "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext",
        )  # fmt: skip
        both = self.home / f"{name}.pem"
        both.write_text("".join((self.home / f"{name}{end}").read_text() for end in (".key", ".crt")))
        with both.open("a") as chain:
            chain.write(self.authority.read_text())
        return both

    def server_context(self, pem: Path, *, clients: bool = False) -> ssl.SSLContext:
        """For a server in this process; `clients`: they must show a certificate of ours."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.authority))
        context.load_cert_chain(str(pem))
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self.home, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
