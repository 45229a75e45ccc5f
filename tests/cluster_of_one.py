"""A Slurm of one node on this machine, for tests: its controller and its daemon, without authentication, in a folder of their own and on
ports of their own. The user's own Slurm is untouched."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

from ports import free_ports

DAEMONS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc")
CPUS = 4

CONFIGURATION = """ClusterName=offramp
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid

SlurmctldPort={controller_port}
SlurmdPort={node_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU

SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} CPUs={cpus} NodeAddr=127.0.0.1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def find(name):
    """Daemons are in /usr/sbin, which is not on every user's PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def why_not():
    """The reason why no Slurm can run here; None if it can."""
    missing = [name for name in DAEMONS if find(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "slurmd needs root"
    groups = "/sys/fs/cgroup"
    return None if os.path.isdir(groups) and os.listdir(groups) else f"slurmd needs control groups, and {groups} is empty"


class Cluster:
    """with Cluster(folder) as cluster: cluster.environment leads srun, sbatch and salloc to it."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"SLURM_CONF": os.path.join(folder, "slurm.conf")}
        self.daemons = []

    def log(self):
        text = ""
        for name in ("slurmctld", "slurmd"):
            with open(os.path.join(self.folder, name + ".log"), encoding="utf-8", errors="replace") as file:
                text += f"--- {name}\n" + file.read()[-3000:]
        return text

    def __enter__(self):
        controller_port, node_port = free_ports(2)
        for name in ("state", "spool"):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.environment["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname().split(".")[0], user=getpass.getuser(), folder=self.folder,
                                            controller_port=controller_port, node_port=node_port, cpus=CPUS))
        env = {**os.environ, **self.environment}
        for name in ("slurmctld", "slurmd"):
            with open(os.path.join(self.folder, name + ".log"), "wb") as log:
                self.daemons.append(subprocess.Popen([find(name), "-D"], env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                     start_new_session=True))
        end = time.monotonic() + 30
        while time.monotonic() < end and all(daemon.poll() is None for daemon in self.daemons):
            state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True, timeout=30, check=False)
            if state.stdout.strip() == "idle":
                return self
            time.sleep(0.2)
        log = self.log()
        self.__exit__(None, None, None)
        raise RuntimeError(f"Slurm did not come up\n{log}")

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
