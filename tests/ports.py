"""Ports of this machine for what a test starts."""

import random
import socket


def free_ports(count):
    """Ports below those that the kernel assigns to connections, so that they are still free when the test uses them."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        above = int(file.read().split()[0])
    ports = []
    for port in random.sample(range(1024, above), above - 1024):
        with socket.socket() as each:
            try:
                each.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            break
    return ports
