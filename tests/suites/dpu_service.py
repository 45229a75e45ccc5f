"""The offload service as a library: the two example programs as real processes over UCX; the death, a stall, and another configuration
of one of them."""

import os
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from c_library import compile_example, missing, only_its_functions
from launch import base_environment
from ports import free_ports

pytestmark = pytest.mark.alone

LIMIT = 30  # s, for any one process
NOTICE = 2  # s, within which a rank must notice the death of its service process


def compile_examples(arguments, folder):
    for name in ["service_process", "host_rank"]:
        result = compile_example(arguments, folder, f"dpu/{name}", "offramp-dpu")
        if not result.ok:
            return result
    return result


class Platform:
    """Service processes of one DPU each, at free ports of this machine."""

    def __init__(self, folder, dpus):
        self.folder = folder
        self.path = os.path.join(folder, "platform.conf")
        self.names = [f"dpu{i}" for i in range(dpus)]
        ports = free_ports(2 * dpus)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("# Format version: 1\n")
            for i, name in enumerate(self.names):
                file.write(f"node{i},{name}:127.0.0.1:{ports[2 * i]}:{ports[2 * i + 1]}\n")
        self.started = []

    def start(self, command, variables):
        env = base_environment({"OFFLOAD_CONFIG_FILE_PATH": self.path, "HOME": self.folder, **variables})
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process

    def service(self, name):
        program = os.path.join(self.folder, "service_process")
        return self.start([program], {"DPU_OFFLOAD_DPU_NAME": name, "DPU_OFFLOAD_LIST_DPUS": ",".join(self.names)})

    def rank(self, rank, ranks, *more, **variables):
        program = os.path.join(self.folder, "host_rank")
        return self.start([program, str(rank), str(ranks), *map(str, more)], {"DPU_OFFLOAD_HOST_NAME": "node0", **variables})

    def port(self):
        """The address at which the first service process accepts ranks."""
        with open(self.path, encoding="utf-8") as file:
            return int(file.read().strip().rsplit(":", 1)[1])

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()


def finish(process):
    try:
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return None, output + f"\nstill running after {LIMIT} s\n"


def case(tally, folder, label, body, dpus=1):
    """One test on a platform of its own: body(platform) returns whether it passed, and its output."""
    label = f"dpu_service/{label}"
    if not tally.wants(label):
        return
    begin = time.monotonic()
    platform = Platform(folder, dpus)
    try:
        ok, text = body(platform)
    finally:
        platform.end()
    tally.record(label, ok, text, time.monotonic() - begin)


def timed_finish(process, disturb):
    """Disturbs something, then waits for the end of a process; returns its status, its output, and the seconds."""
    begin = time.monotonic()
    disturb()
    status, output = finish(process)
    return status, output, time.monotonic() - begin


def examples_run(ranks):
    def body(platform):
        services = [platform.service(name) for name in platform.names]
        hosts = [platform.rank(rank, ranks, 200) for rank in range(ranks)]
        # Ranks use the service process of node0; the others notice, and this test ends them.
        ends = [finish(process) for process in hosts] + [finish(services[0])]
        text = "\n".join(output for _, output in ends)
        ok = all(status == 0 for status, _ in ends) and text.count("200 answers") == ranks
        return ok and "all ranks have gone, 0 without a goodbye" in text, text
    return body


def service_killed(platform):
    service = platform.service("dpu0")
    rank = platform.rank(0, 1, 1000000, 10)
    said = rank.stdout.readline()
    status, output, took = timed_finish(rank, service.kill)
    ok = "is connected" in said and status == 3 and "status -2: the server is lost" in output and took < NOTICE
    return ok, f"{said}{output}\nexit status {status} after {took:.3f} s"


def service_stalls(platform):
    """The process lives, and its connection exists, but it sends nothing: the rank treats it as dead. A rank beside it takes twice the
    limit before that, and gets all its answers."""
    service = platform.service("dpu0")
    beside = platform.rank(0, 2, 100, 10, 500)
    rank = platform.rank(1, 2, 1000000, 10, 500)
    said = rank.stdout.readline()
    answered = finish(beside)
    alive = rank.poll() is None and answered[0] == 0 and "100 answers" in answered[1]
    status, output, took = timed_finish(rank, lambda: service.send_signal(signal.SIGSTOP))
    service.send_signal(signal.SIGCONT)
    end = finish(service)
    ok = "is connected" in said and alive and status == 3 and 0.3 < took < NOTICE
    ok = ok and "no sign of life for 500 ms" in output and end[0] == 0 and "1 without a goodbye" in end[1]
    return ok, f"{answered}\n{said}{output}\nexit status {status} after {took:.3f} s\n{end}"


def rank_differs(platform):
    service = platform.service("dpu0")
    said = service.stdout.readline()
    right = platform.path
    platform.path = os.path.join(platform.folder, "other.conf")
    with open(right, encoding="utf-8") as file, open(platform.path, "w", encoding="utf-8") as other:
        other.write(file.read() + "node1,dpu1:127.0.0.1:7100:9100\n")
    asked = time.monotonic()
    wrong = finish(platform.rank(0, 1))
    took = time.monotonic() - asked
    platform.path = right
    good = finish(platform.rank(0, 1))
    end = finish(service)
    ok = wrong[0] == 1 and "the server refuses: the configuration files differ" in wrong[1] and took < NOTICE
    ok = ok and good[0] == 0 and end[0] == 0 and "0 without a goodbye" in end[1]
    return ok, f"{said}{wrong}\n{good}\n{end}"


def rank_killed(platform):
    service = platform.service("dpu0")
    rank = platform.rank(0, 1, 1000000, 10)
    said = rank.stdout.readline()
    status, output, took = timed_finish(service, rank.kill)
    ok = "is connected" in said and status == 0 and "1 without a goodbye" in output and took < NOTICE
    return ok, f"{said}{output}\nexit status {status} after {took:.3f} s"


def frame(version, signature, body):
    return b"OFDP" + version.to_bytes(4, "little") + len(body).to_bytes(4, "little") + signature + body


def strangers(platform):
    """Data from a sender without the secret does not disturb the service, even an address that would crash UCX."""
    port = platform.port()
    greeting = bytes(16) + (1).to_bytes(8, "little") + b"\1" + (1).to_bytes(2, "little") + b"\xff"
    service = platform.service("dpu0")
    said = service.stdout.readline()
    for text in [b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 70000, b"OFDP" + b"\xff" * 60, frame(1, bytes(4), bytes(40)),
                 frame(2, bytes(32), greeting), frame(2, bytes(32), bytes(16))]:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        except OSError:
            pass  # it hung up before all was sent
    rank = finish(platform.rank(0, 1, 5))
    end = finish(service)
    return rank[0] == 0 and end[0] == 0 and "0 without a goodbye" in end[1], f"{said}{rank}\n{end}"


def another_secret(platform):
    """A process without the secret is no rank, and does not disturb a rank that has it."""
    service = platform.service("dpu0")
    said = service.stdout.readline()
    secret = os.stat(os.path.join(platform.folder, ".config/offramp/dpu-secret"))
    stranger = finish(platform.rank(0, 1, OFFRAMP_DPU_SECRET="what another user thinks of"))
    rank = finish(platform.rank(0, 1, 5))
    end = finish(service)
    ok = stranger[0] == 1 and "the server refuses: it has another secret" in stranger[1]
    ok = ok and rank[0] == 0 and "5 answers" in rank[1] and end[0] == 0 and secret.st_mode & 0o777 == 0o600
    return ok, f"{said}{oct(secret.st_mode)} {stranger}\n{rank}\n{end}"


def configurations(platform):
    with open(platform.path, "w", encoding="utf-8") as file:
        file.write("# Format version: 1\nnode0,dpu0:127.0.0.1:7100&7101:9100\n")
    status, output = finish(platform.service("dpu0"))
    return status == 1 and f"{platform.path}:2: " in output, output


def test_exports(arguments, tally):
    if missing(arguments, "offramp-dpu"):
        tally.skip("dpu_service", missing(arguments, "offramp-dpu"))
        return
    only_its_functions(arguments, tally, "dpu_service", "offramp-dpu",
                       [f"dpu/{name}.h" for name in ("engine", "events", "cache", "ops")])


def test_processes(arguments, tally):
    if missing(arguments, "offramp-dpu"):
        return
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_examples(arguments, folder)
        tally.record("dpu_service/the examples compile", compiled.ok, compiled.output, compiled.seconds)
        if not compiled.ok:
            return
        case(tally, folder, "1 service processes, 1 ranks", examples_run(1))
        case(tally, folder, "3 service processes, 4 ranks", examples_run(4), dpus=3)
        case(tally, folder, "a rank learns of the death of its service process", service_killed)
        case(tally, folder, "a rank gives up a service process that lives and does nothing", service_stalls)
        case(tally, folder, "a rank with another configuration file is refused at once", rank_differs)
        case(tally, folder, "a service process learns of the death of its rank", rank_killed)
        case(tally, folder, "a process with another secret is no rank", another_secret)
        case(tally, folder, "strangers at the port of a service process", strangers)
        case(tally, folder, "a wrong configuration is refused with file and line", configurations)
