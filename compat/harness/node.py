"""A simulated node of its own directory: raised, used through `partita-sim run`, taken down."""

import contextlib
import json
import os
import re
import subprocess

from harness import facts
from support.shell import Failure, check, kill_group, run

PROFILES = ["dgx-a100-40", "hgx-h200", "h200-vm", "mixed"]
NAME = "judged"


# Half of what NVIDIA's programs take here is reading 1.5 MB of PCI names anew for every GPU at every start, unless
# the machine has a list of its own at this place.
WITH_NAMES = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /usr/share/misc && exec "$@"']


def write_pci_names(folder, gpus):
    """/usr/share/misc with a pci.ids that knows the GPUs of a node."""
    os.makedirs(folder, exist_ok=True)
    devices = sorted({int(gpu.product.device_id, 16) >> 16: gpu.product.name for gpu in gpus}.items())
    classes = sorted({gpu.product.pci_class >> 16 for gpu in gpus})
    with open(os.path.join(folder, "pci.ids"), "w", encoding="utf-8") as file:
        file.write("10de  NVIDIA Corporation\n")
        file.writelines(f"\t{number:04x}  {name}\n" for number, name in devices)
        file.writelines(f"C {number:02x}  Display controller\n" for number in classes)


class Node:
    """One node of a profile. `with Node(…) as node` raises it and takes it down whatever happens."""

    def __init__(self, context, profile, log, file=None):
        """`file`: a node file instead of that profile's."""
        self.profile = profile
        self._file = file
        self.name = NAME
        data = os.path.join(context.source, "data")
        self.facts = facts.read_node(data, file or facts.node_path(data, profile))
        self.log = log
        self.root = os.path.join(context.sim_directory, NAME)
        self._context = context
        self._environment = dict(os.environ, PARTITA_SIM_DIR=context.sim_directory)
        self._names = context.scratch("pci-names")

    def __enter__(self):
        write_pci_names(self._names, self.facts.gpus)
        self.sim("up", *(["--file", self._file] if self._file else [self.profile]), "--node", NAME)
        return self

    def __exit__(self, *_):
        # Not through run(): a node goes down also when the run is interrupted.
        down = [self._context.tool, "down", "--node", NAME, "--force"]
        subprocess.run(down, env=self._environment, stdout=subprocess.DEVNULL, timeout=60, check=False)

    def sim(self, *arguments):
        """A partita-sim command that must succeed."""
        return check([self._context.tool, *arguments], self.log, env=self._environment)

    def inside(self, command, proc_modules=False):
        """The command line that runs `command` on the node."""
        view = ["--proc-modules"] if proc_modules else []
        return [self._context.tool, "run", "--node", NAME, *view, "--", *WITH_NAMES, self._names, *command]

    def run(self, command, *, timeout=60, proc_modules=False, stdin=None, env=None):
        return run(
            self.inside(command, proc_modules), self.log,
            timeout=timeout, stdin=stdin, env=dict(self._environment, **(env or {})),
        )

    def check(self, command, **options):
        done = self.run(command, **options)
        if done.returncode != 0:
            words = (done.stderr + done.stdout).strip().splitlines() or ["(no output)"]
            raise Failure(f"{os.path.basename(command[0])} exited {done.returncode}: {words[-1]}")
        return done

    def start(self, command, output):
        """Starts a long-lived program on the node; its output goes to the open file `output`."""
        self.log.write("$ " + " ".join(self.inside(command)) + " &")
        return subprocess.Popen(
            self.inside(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env=self._environment, start_new_session=True,
        )

    @contextlib.contextmanager
    def job(self, gpu, instance):
        """A process that uses a slice for as long as the block lasts."""
        command = [
            self._context.tool, "workload", "start", "--node", NAME, "--gpu", str(gpu),
            "--mig", str(instance), "--memory", "1GiB", "--", "sh", "-c", "echo started; read -r _",
        ]
        self.log.write("$ " + " ".join(command) + " &")
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=self._environment, start_new_session=True,
        ) as process:
            try:
                if process.stdout.readline() != "started\n":
                    raise Failure(f"no job could be started in GPU instance {instance} of GPU {gpu}")
                yield process
            finally:
                kill_group(process)

    # ---- layouts, made by mig-parted ----

    def mig_parted(self, *arguments, timeout=60):
        """nvidia-mig-parted, which alone needs the short-lived view with /proc/modules."""
        program = self._context.programs["nvidia-mig-parted"]
        return self.run([program, *arguments], proc_modules=True, timeout=timeout)

    def apply(self, layout):
        """Partitions the node: a list of Specs, as build_config() takes them."""
        path = self._context.scratch("layout.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(build_config({"layout": layout}))
        done = self.mig_parted("apply", "-f", path, "-c", "layout", timeout=120)
        if done.returncode != 0:
            raise Failure(f"mig-parted cannot make the layout {layout}: {done.stderr.strip()[-300:]}")

    # ---- what the node's files say ----

    def gpu_uuids(self):
        """UUIDs by index, from /proc/driver/nvidia: a source other than the library that is judged."""
        uuids = []
        for gpu in self.facts.gpus:
            path = os.path.join(self.root, "proc/driver/nvidia/gpus", gpu.pci, "information")
            uuids.append(re.search(r"GPU UUID:\s*(\S+)", facts.read(path))[1])
        return uuids

    def slice_uuids(self, gpu):
        """UUIDs of the MIG devices of a GPU, as nvidia-smi lists them."""
        listing = self.check(["nvidia-smi", "-L"]).stdout
        own = re.split(r"^GPU \d+:", listing, flags=re.M)[1 + gpu]
        return set(re.findall(r"\(UUID: (MIG-[^)]+)\)", own))


def spec(devices, profiles, device_filter=None):
    """One entry of a mig-parted configuration; `profiles` None means MIG off."""
    entry = {"devices": devices, "mig-enabled": profiles is not None, "mig-devices": profiles or {}}
    if device_filter:
        entry["device-filter"] = device_filter
    return entry


def build_config(configs):
    """A mig-parted configuration file (JSON is YAML)."""
    return json.dumps({"version": "v1", "mig-configs": configs}, indent=2)


def stop(process, seconds=20):
    """Ends a program started by Node.start: asks, waits, then kills its whole session."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.wait(seconds)
        raise Failure(f"{process.args[-1]} ignored SIGTERM for {seconds} s") from None
