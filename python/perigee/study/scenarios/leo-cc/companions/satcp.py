# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tells SaTCP's module of handovers, as the relay of its authors does (docs/hosts.md, Notices).

The module listens to netlink family 31 in the kernel's first network namespace, for "1" (a handover is near) and "0"
(it is over).
"""

import json
import socket
import struct
import time

FAMILY = 31

module = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, FAMILY)
with open("/run/perigee/notices", encoding="utf-8") as notices:
    while True:
        line = notices.readline()
        if not line:
            time.sleep(0.005)
            continue
        status = b"0" if json.loads(line)["event"] == "end" else b"1"
        # A header of netlink (length, type, flags, number, sender) and the string.
        module.sendto(struct.pack("=IHHII", 24, 0, 0, 0, 0) + status.ljust(8, b"\0"), (0, 0))
