"""The simulated GPU machines of a cluster, by way of partita-sim."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from support.shell import SetupError

SECONDS = 120


class Simulator:
    """Machines live in a folder of the cluster's own: names never meet those of another cluster."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.tool = build / "bin" / "partita-sim"
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        return {"PARTITA_SIM_DIR": str(self.folder)}

    def check(self) -> None:
        if not self.tool.exists():
            raise SetupError(f"{self.tool} does not exist; build it first: make build")

    def up(self, node: str, profile: str) -> None:
        self._call("up", profile, "--node", node)

    def reboot(self, node: str) -> None:
        self._call("reboot", "--node", node, "--force")

    def show(self, node: str) -> str:
        """Its state, as JSON."""
        return self._call("show", "--node", node, "--output", "json")

    def boot_id(self, node: str) -> str:
        return json.loads(self.show(node))["boot"]["id"]

    def run_in_view(self, node: str) -> list[str]:
        """The beginning of a command line: what follows sees the machine's hardware."""
        return [str(self.tool), "run", "--node", node, "--"]

    def remove_all(self) -> None:
        """Takes every machine down; a tool that is gone or too old must not keep the files."""
        for folder in self.folder.iterdir() if self.folder.exists() else ():
            if self.tool.exists() and not folder.name.startswith("."):
                self._run("down", "--node", folder.name, "--force")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, *arguments: str) -> str:
        done = self._run(*arguments)
        if done.returncode != 0:
            raise SetupError(f"partita-sim {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.tool), *arguments], env={**os.environ, **self.environment}, capture_output=True,
            text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL,
        )
