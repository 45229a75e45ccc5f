"""Two hosts on one machine: namespaces with names, addresses, process ids and shared memory of their own, and a cable between them. Runs
inside isolated.py, so that everything ends with the test.

usage: two_hosts.py [--outage AFTER SECONDS] MPIRUN_ARGUMENTS...
       two_hosts.py --host NAME              the first process of a host
       two_hosts.py --agent HOST COMMAND     what mpirun calls in place of ssh
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from launch import openmpi_release

SHARED = "/mnt"  # isolated.py's private file system, which both hosts see like a home folder
HOSTS = {"alpha": "10.77.0.1", "beta": "10.77.0.2"}
DOOR = f"{SHARED}/door"
# Open MPI 4.1.4 chooses osc rdma for windows here, which then fails, natively too.
OSC = ["--mca", "osc", "sm,pt2pt"]


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Host:
    """The namespaces and the process that owns them: killing it ends everything in them."""

    def __init__(self, name):
        self.name = name
        command = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--mount-proc", "--kill-child",
                   sys.executable, os.path.abspath(__file__), "--host", name]
        self.keeper = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            sys.exit(f"host {name} did not start")
        with open(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children", encoding="ascii") as file:
            self.first = file.read().strip()

    def command(self, *words):
        return ["nsenter", "--target", self.first, "--mount", "--uts", "--ipc", "--net", "--pid", "env",
                f"TMPDIR={SHARED}/{self.name}", *words]

    def run(self, *words):
        return sh(*self.command(*words))

    def end(self):
        self.keeper.kill()
        self.keeper.wait()


class Door(threading.Thread):
    """Hosts do not see each other's processes, so a process of one cannot enter the other. The agent connects here instead, and passes
    on its own input and output."""

    def __init__(self, hosts):
        super().__init__(daemon=True)
        self.hosts = hosts
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(DOOR)
        self.socket.listen()

    def run(self):
        while True:
            visitor, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=[visitor], daemon=True).start()

    def serve(self, visitor):
        with visitor:
            request, files, _, _ = socket.recv_fds(visitor, 1 << 20, 3)
            host, line = json.loads(request)
            process = subprocess.Popen(self.hosts[host].command("sh", "-c", line), stdin=files[0], stdout=files[1],
                                       stderr=files[2])
            for file in files:
                os.close(file)
            visitor.sendall(bytes([process.wait() & 0xFF]))


def be_agent(host, words):
    """Replaces ssh."""
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(DOOR)
        socket.send_fds(door, [json.dumps([host, " ".join(words)]).encode()], [0, 1, 2])
        answer = door.recv(1)
        sys.exit(answer[0] if answer else 255)


def be_host(name):
    """Process 1 of a host."""
    socket.sethostname(name)
    sh("mount", "-t", "tmpfs", "-o", "size=1g,mode=1777", "tmpfs", "/dev/shm")
    sh("mount", "--bind", f"{SHARED}/hosts", "/etc/hosts")
    sh("mount", "-t", "sysfs", "sysfs", "/sys")  # of this network namespace: libraries look for interfaces there
    sh("ip", "link", "set", "lo", "up")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphaned processes are reaped automatically
    print("ready", flush=True)
    while True:
        signal.pause()


def connect(hosts):
    alpha, beta = (host.first for host in hosts.values())
    sh("ip", "link", "add", "eth0", "netns", alpha, "type", "veth", "peer", "name", "eth0", "netns", beta)
    for name, host in hosts.items():
        host.run("ip", "address", "add", f"{HOSTS[name]}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "up")
    # The kernel takes a moment to report a link as up, and until then libraries ignore it.
    patience = time.monotonic() + 10
    while any(host.run("cat", "/sys/class/net/eth0/operstate") != "up\n" for host in hosts.values()):
        if time.monotonic() > patience:
            sys.exit("the link between the hosts does not come up")
        time.sleep(0.05)


def cut(host, after, seconds):
    """Disconnects the cable while the program runs, and connects it again."""
    time.sleep(after)
    host.run("ip", "link", "set", "eth0", "down")
    time.sleep(seconds)
    host.run("ip", "link", "set", "eth0", "up")
    print(f"the link was down for {seconds:g} s", flush=True)


def repeated_segments(hosts):
    """The number of TCP's retransmissions on both hosts."""
    total = 0
    for host in hosts.values():
        names, values = [line.split() for line in host.run("cat", "/proc/net/snmp").splitlines()
                         if line.startswith("Tcp:")]
        total += int(values[names.index("RetransSegs")])
    return total


def mpirun(host, arguments):
    places = ",".join(f"{name}:64" for name in HOSTS)
    remote, runtime, windows = ("ssh", "prte", []) if openmpi_release() >= 5 else ("rsh", "oob_tcp", OSC)
    agent = f"{sys.executable} {os.path.abspath(__file__)} --agent"
    line = ["mpirun", "--oversubscribe", "--host", places, "--map-by", "node", "--mca", "plm", remote, "--mca",
            f"plm_{remote}_agent", agent, "--mca", f"{runtime}_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
            *windows]
    return subprocess.run(host.command(*line, *arguments), check=False).returncode


def main(arguments):
    with open(f"{SHARED}/hosts", "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in HOSTS.items()))
    for name in HOSTS:
        os.mkdir(f"{SHARED}/{name}")
    hosts = {name: Host(name) for name in HOSTS}
    connect(hosts)
    Door(hosts).start()
    outage = arguments[0] == "--outage"
    if outage:
        threading.Thread(target=cut, args=[hosts["alpha"], *map(float, arguments[1:3])], daemon=True).start()
        arguments = arguments[3:]
    status = mpirun(hosts["alpha"], arguments)
    if outage:
        print(f"repeated segments: {repeated_segments(hosts)}", flush=True)
    for name, host in hosts.items():
        for file in host.run("ls", "/dev/shm").split():
            print(f"left behind: /dev/shm/{file} on {name}", flush=True)
        host.end()
    os.unlink(f"{SHARED}/hosts")
    os.unlink(DOOR)
    sys.exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "--host":
        be_host(sys.argv[2])
    if sys.argv[1] == "--agent":
        be_agent(sys.argv[2], sys.argv[3:])
    main(sys.argv[1:])
