# SPDX-License-Identifier: Apache-2.0 OR MIT
"""HTTP server for a single page, on localhost only."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from perigee_lab.common import quoting

HOST = "127.0.0.1"
IDLE_S = 5.0
"""Time limit for a complete request, and for the answer."""
MOST_CONNECTIONS = 32
PATIENCE_S = 1.0
"""Time until a dropped connection has freed its place."""
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Policy of the answer; that of the page allows only its own scripts and styles, by their hashes."""


def serve(page: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """Starts a server with the page at a secret address; returns both. Port 0 is any free port.

    Requests without the secret (other users of the machine, pages of other sites) get 404.

    Raises:
        OSError: the port is in use.
    """
    path = f"/{secrets.token_urlsafe(18)}/"
    body = page.encode()

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_S

        def do_GET(self) -> None:
            known = hmac.compare_digest(self.path.encode(), path.encode())
            # Other host names are rejected: a hostile name may resolve to this machine (DNS
            # rebinding).
            self.server.has_asked(self.connection)  # type: ignore[attr-defined]
            local = self.headers.get("Host", "").rpartition(":")[0] == HOST
            if not (known and local):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")
            # In addition to the page's own policy, which cannot keep it out of frames.
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    server = _Bounded((HOST, port), Handler)
    return server, f"http://{HOST}:{server.server_address[1]}{path}"


class _Bounded(ThreadingHTTPServer):
    """Server with a bounded number of connections, of which one without a request makes way for a new one."""

    daemon_threads = True
    request_queue_size = 2 * MOST_CONNECTIONS

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.newcomers: dict[Any, float] = {}
        """Connections without a complete request by the time at which they were accepted, oldest first."""
        self.lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.places.acquire(blocking=False):
            self._drop(lambda n, _: n == 0)
            if not self.places.acquire(timeout=PATIENCE_S):
                self.shutdown_request(request)
                return
        with self.lock:
            self.newcomers[request] = time.monotonic()
        super().process_request(request, client_address)

    def has_asked(self, request: Any) -> None:
        """A request has been read, which keeps its place until it is answered."""
        with self.lock:
            self.newcomers.pop(request, None)

    def service_actions(self) -> None:
        """Ends connections with bytes that trickle in: the timeout of a read would never expire."""
        late = time.monotonic() - IDLE_S
        self._drop(lambda _, since: since < late)

    def _drop(self, which: Callable[[int, float], bool]) -> None:
        """Ends newcomers by their position and time; their threads then free their places."""
        with self.lock:
            for n, (request, since) in enumerate(list(self.newcomers.items())):
                if which(n, since):
                    del self.newcomers[request]
                    with suppress(OSError):
                        request.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_asked(request)
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are no errors of the command."""


@contextmanager
def doorway(address: str) -> Iterator[str]:
    """The URL of a file of this user's that leads to the address; removed after the block.

    A browser is started with it: its arguments, which all users of the machine see, would show the
    secret of the address itself.
    """
    with tempfile.TemporaryDirectory(prefix="perigee-view-") as folder:
        file = Path(folder) / "view.html"
        target = quoting.html(address)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(
                f'<!doctype html><meta http-equiv="refresh" content="0; url={target}"><a href="{target}">view</a>\n'
            )
        yield file.as_uri()
