# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Relay of handover notices to SaTCP's module, as its authors' (docs/how-to/hosts-kernel.md).

The module listens to netlink family 31 in the kernel's first network namespace, for "1" (a handover
is near) and "0" (it is over). A notice before the end of another handover extends it.
"""

import json
import socket
import struct
import time

FAMILY = 31

until_ns = 0
module = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, FAMILY)
with open("/run/perigee/notices", encoding="utf-8") as notices:
    while True:
        line = notices.readline()
        if not line:
            time.sleep(0.005)
            continue
        told = json.loads(line)
        until_ns = max(until_ns, told.get("until_ns", 0))
        over = told["event"] == "end"
        if told["event"] == "path" or (over and told["t_ns"] < until_ns):
            continue
        status = b"0" if over else b"1"
        # A netlink header (length, type, flags, sequence number, sender), followed by the string.
        module.sendto(struct.pack("=IHHII", 24, 0, 0, 0, 0) + status.ljust(8, b"\0"), (0, 0))
