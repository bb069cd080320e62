# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Serves one page to this machine only."""

from __future__ import annotations

import hmac
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"


def serve(page: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server that has the page under an address with a secret in it, and that address. Port 0: any free one.

    Whoever does not know the secret (other users of the machine, pages of other sites) gets 404.

    Raises:
        OSError: the port is taken.
    """
    path = f"/{secrets.token_urlsafe(18)}/"
    body = page.encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = hmac.compare_digest(self.path.encode(), path.encode())
            # Not by another name of this machine: a hostile name may be made to point here (DNS rebinding).
            local = self.headers.get("Host", "").rpartition(":")[0] == HOST
            if not (known and local):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    return server, f"http://{HOST}:{server.server_address[1]}{path}"
