"""A real Slurm of one node, in a folder of its own: munged, slurmctld and slurmd, stopped by their process ids."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

_CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge},cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmctldParameters=preempt_send_user_signal
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxArraySize={largest}
KillWait=10
JobRequeue=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""


def missing() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    lacking = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name, path=_PATH) is None]
    return f"not installed: {', '.join(lacking)} (Debian: slurm-wlm, munge)" if lacking else None


_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


class SlurmNode:
    """Use as a context. `conf` belongs into SLURM_CONF of whoever asks this Slurm."""

    def __init__(self, folder: Path, largest: int = 1001):
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._largest = largest
        self._daemons: list[subprocess.Popen] = []

    def __enter__(self) -> SlurmNode:
        # Short, because a socket's path has at most 107 characters.
        munge = self.folder / "munge.socket"
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.conf.write_text(
            _CONF.format(
                host=socket.gethostname(),
                controller=_free_port(),
                daemon=_free_port(),
                munge=munge,
                largest=self._largest,
                folder=self.folder,
                cpus=len(os.sched_getaffinity(0)),
                memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 * 9 // 10,
            )
        )
        try:
            files = [f"--{what}-file={self.folder}/munge.{what}" for what in ("key", "pid", "log", "seed")]
            self._start("munged", "--foreground", "--force", f"--socket={munge}", *files)
            self._await(munge.exists)
            self._start("slurmctld", "-D", "-f", str(self.conf))
            self._start("slurmd", "-D", "-f", str(self.conf), "-N", socket.gethostname())
            self._await(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T", check=False))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if len(self._daemons) == 3:
            self.ask("scancel", "--user=root", check=False)
            self._await(lambda: not self.ask("squeue", "--noheader", check=False).strip(), strict=False)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons.clear()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.conf)}

    def ask(self, *command: str, check: bool = True) -> str:
        """Standard output of a command of this Slurm."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=30)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def _start(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("wb") as output:
            self._daemons.append(subprocess.Popen(command, env=self.environment, stdout=output, stderr=output))

    def _await(self, what, seconds: float = 20.0, strict: bool = True) -> None:
        deadline = time.monotonic() + seconds
        while not what():
            dead = [daemon.args[0] for daemon in self._daemons if daemon.poll() is not None]
            if strict and (dead or time.monotonic() > deadline):
                told = "\n".join(
                    file.read_text(errors="replace")[-1500:] for file in self.folder.glob("*.[ol][uo][tg]")
                )
                raise RuntimeError(f"Slurm does not start; dead: {dead}\n{told}")
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
