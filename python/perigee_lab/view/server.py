# SPDX-License-Identifier: Apache-2.0 OR MIT
"""HTTP server for a single page, on localhost only."""

from __future__ import annotations

import hmac
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"


def serve(page: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """Starts a server with the page at a secret address; returns both. Port 0 is any free port.

    Requests without the secret (other users of the machine, pages of other sites) get 404.

    Raises:
        OSError: the port is in use.
    """
    path = f"/{secrets.token_urlsafe(18)}/"
    body = page.encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = hmac.compare_digest(self.path.encode(), path.encode())
            # Other host names are rejected: a hostile name may resolve to this machine (DNS
            # rebinding).
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
            """Logs nothing."""

    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    return server, f"http://{HOST}:{server.server_address[1]}{path}"
