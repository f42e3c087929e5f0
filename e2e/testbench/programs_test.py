"""Run by ctest: python3 -m unittest discover, with e2e/ and tests/ on PYTHONPATH.

A shell script plays Go: what is looked at is when it is called, how, and what is said when it fails.
"""

import dataclasses
import os
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from support import golang, judges
from support.shell import Log, SetupError
from testbench import programs

GO = """#!/bin/sh
echo "$@ cgo=$CGO_ENABLED" >>"$CALLS"
case $1 in
  version) echo go version go1.26.8 linux/amd64 ;;
  env) echo https://proxy.example ;;
  mod) echo "{\\"Dir\\": \\"$SOURCES\\"}" ;;
  list)
    echo some/package
    echo "go: downloading wheels" >&2
    [ -z "$LIST_SAYS" ] || { echo "$LIST_SAYS" >&2; exit 1; } ;;
  build)
    [ -z "$BROKEN" ] || { echo "main.go:1: undefined: x" >&2; exit 1; }
    while [ "$1" != -o ]; do shift; done
    echo "$3" >"$2" ;;
esac
"""


class FakeGo(unittest.TestCase):
    """A module of two programs, a cache of its own, and a Go that only pretends."""

    def setUp(self) -> None:
        scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.module = programs.Module(
            scratch / "wheels", "example.org/wheels", {"wheel": "example.org/wheels/cmd/wheel", "axle": "."},
            links={"tyre": "wheel"}, linker_flags="-X v={version} -X m={major}.{minor}",
        )
        self.calls = scratch / "calls"
        self.said: list[str] = []
        self.module.folder.mkdir()
        self.pin("v1.36.4")
        (scratch / "go").write_text(GO, encoding="utf-8")
        (scratch / "go").chmod(0o755)
        self.log = Log(str(scratch / "log"))
        self.addCleanup(self.log.close)
        self.enterContext(mock.patch.object(programs, "MODULES", (self.module,)))
        self.enterContext(mock.patch.dict(
            os.environ, PARTITA_CACHE=str(scratch / "cache"), CALLS=str(self.calls),
            PATH=f"{scratch}:{os.environ['PATH']}",
        ))

    def pin(self, version: str) -> None:
        text = f"module ours\n\nrequire example.org/wheels {version}\n"
        (self.module.folder / "go.mod").write_text(text, encoding="utf-8")

    def with_file(self, path: str) -> Path:
        """The module has one more file, which lies at `path` in the project; returns where that is."""
        self.module = dataclasses.replace(self.module, files={"kinds.yaml": path})
        self.enterContext(mock.patch.object(programs, "MODULES", (self.module,)))
        self.enterContext(mock.patch.dict(os.environ, SOURCES=str(self.module.folder.parent)))
        return self.module.folder.parent / path

    def build(self, *names: str) -> dict[str, Path]:
        return programs.build(names, self.log, self.said.append)

    def builds(self) -> list[str]:
        calls = self.calls.read_text(encoding="utf-8").splitlines()
        return [call for call in calls if call.startswith("build ")]


class Build(FakeGo):
    def test_makes_all_programs_of_a_module_and_their_links(self) -> None:
        (path,) = self.build("tyre").values()
        self.assertEqual(path.read_text(encoding="utf-8"), "example.org/wheels/cmd/wheel\n")
        self.assertEqual(sorted(os.listdir(path.parent)), ["axle", "tyre", "wheel"])
        self.assertEqual(os.readlink(path), "wheel")
        self.assertEqual(path, programs.path("tyre"))

    def test_tells_the_linker_the_version_that_go_mod_pins(self) -> None:
        self.build("axle")
        for call in self.builds():
            self.assertIn(f"-gcflags {golang.QUICK} -ldflags -X v=v1.36.4 -X m=1.36 ", call)
            self.assertTrue(call.endswith(" cgo=0"), call)

    def test_says_what_it_does_and_how_long_it_took(self) -> None:
        self.build("wheel")
        title = "example.org/wheels v1.36.4"
        self.assertEqual(
            [line.rsplit(" after ")[0] for line in self.said],
            [f"downloading {title}", f"downloading {title}: done",
             f"building {title}: wheel, axle", f"building {title}: wheel, axle: done"],
        )

    def test_says_that_it_still_goes_on(self) -> None:
        beaten = threading.Event()

        def say(line: str) -> None:
            self.said.append(line)
            if len(self.said) == 3:
                beaten.set()

        with mock.patch.object(programs, "HEARTBEAT_SECONDS", 0.001), programs.progress("building", say):
            self.assertTrue(beaten.wait(20))
        self.assertRegex(self.said[1], r"^building: \d+ s so far$")

    def test_builds_once_and_then_has_nothing_to_say(self) -> None:
        before = self.build("wheel")
        self.said.clear()
        self.assertEqual(self.build("wheel"), before)
        self.assertEqual(len(self.builds()), 2)
        self.assertEqual(self.said, [])

    def test_keeps_files_of_the_project_and_builds_no_program_again_for_them(self) -> None:
        before = self.build("wheel")
        source = self.with_file("kinds.yaml")
        source.write_text("kinds", encoding="utf-8")
        self.assertEqual(self.build("wheel"), before)
        source.unlink()
        self.assertEqual(programs.file("kinds.yaml").read_text(encoding="utf-8"), "kinds")
        self.assertEqual(len(self.builds()), 2)

    def test_compiles_nothing_where_only_files_are_wanted(self) -> None:
        self.module = dataclasses.replace(self.module, packages={}, links={})
        self.with_file("kinds.yaml").write_text("kinds", encoding="utf-8")
        self.assertEqual(self.build("kinds.yaml")["kinds.yaml"].read_text(encoding="utf-8"), "kinds")
        self.assertEqual(self.builds(), [])

    def test_keeps_folders_of_the_project_whole(self) -> None:
        chart = self.with_file("deployments/wheels")
        (chart / "templates").mkdir(parents=True)
        (chart / "templates" / "wheel.yaml").write_text("round", encoding="utf-8")
        (kept,) = self.build("kinds.yaml").values()
        self.assertEqual((kept / "templates" / "wheel.yaml").read_text(encoding="utf-8"), "round")

    def test_builds_again_when_a_pin_changes(self) -> None:
        before = self.build("wheel")
        self.pin("v1.36.5")
        self.assertNotEqual(self.build("wheel"), before)
        self.assertEqual(len(self.builds()), 4)


class Place(FakeGo):
    def place(self, go: tuple[int, int, int] = (1, 26, 8), **changes: object) -> Path:
        module = dataclasses.replace(self.module, **changes)
        return module.place(golang.Go("go", go, self.log))

    def test_differs_in_all_that_goes_into_a_program(self) -> None:
        before = self.place()
        (self.module.folder / "go.sum").write_text("sums", encoding="utf-8")
        summed = self.place()
        others = [
            before, self.place(cgo=True), self.place(linker_flags="-s"),
            self.place(packages={"wheel": "."}), self.place(go=(1, 26, 9)),
        ]
        self.assertNotIn(summed, others)
        self.assertEqual(len(set(others)), len(others))

    def test_of_a_judge_is_that_of_compat(self) -> None:
        place = self.place(is_judge=True)
        self.assertEqual(place.parent.name, "judges")
        go = golang.Go("go", (1, 26, 8), self.log)
        self.assertEqual(str(place), judges.place(go, str(self.module.folder)))

    def test_of_what_bench_measures_is_another(self) -> None:
        go = golang.Go("go", (1, 26, 8), self.log)
        folder = str(self.module.folder)
        self.assertNotEqual(judges.place(go, folder), judges.place(go, folder, compiler_flags=""))


class Refuse(FakeGo):
    def refused(self, call, *arguments: str) -> str:
        with self.assertRaises(SetupError) as caught:
            call(*arguments)
        return str(caught.exception)

    def test_a_name_that_nobody_knows(self) -> None:
        self.assertEqual(self.refused(programs.path, "cog"), "no program 'cog'; there are: wheel, axle, tyre")

    def test_the_path_of_what_is_not_built(self) -> None:
        self.assertEqual(
            self.refused(programs.path, "wheel"),
            "wheel (example.org/wheels v1.36.4) is not built; run: e2e/e2e build",
        )

    def test_a_download_that_fails(self) -> None:
        with mock.patch.dict(os.environ, LIST_SAYS="dial tcp: no route to host"):
            text = self.refused(self.build, "wheel")
        self.assertRegex(
            text,
            r"^cannot download the Go modules that \S+/wheels/go.mod names: dial tcp: no route to host; see that "
            r"this machine reaches https://proxy.example \(GOPROXY\), then run it again; log: \S+/log$",
        )

    def test_a_download_that_is_not_what_was_pinned(self) -> None:
        with mock.patch.dict(os.environ, LIST_SAYS="wheels: checksum mismatch\n\tgo.sum: h1:x\nSee go help"):
            text = self.refused(self.build, "wheel")
        self.assertRegex(
            text,
            r"^cannot download the Go modules that \S+/wheels/go.mod names: wheels: checksum mismatch; somebody "
            r"changed the module, or our go.mod without `go mod tidy`: find out before you go on; log: \S+/log$",
        )

    def test_a_build_that_fails_and_leaves_nothing_that_looks_built(self) -> None:
        with mock.patch.dict(os.environ, BROKEN="1"):
            text = self.refused(self.build, "wheel")
        self.assertRegex(
            text,
            r"^cannot build example.org/wheels v1.36.4 in \S+/wheels: .* exited 1: main.go:1: undefined: x; "
            r"its whole output: \S+/log$",
        )
        self.assertIn("is not built", self.refused(programs.path, "wheel"))
        self.assertTrue(self.build("wheel")["wheel"].exists())

    def test_a_file_that_the_project_does_not_have(self) -> None:
        self.with_file("sources/kinds.yaml")
        self.assertRegex(
            self.refused(self.build, "wheel"),
            r"^example.org/wheels v1.36.4 has no file sources/kinds.yaml \(looked for \S+/sources/kinds.yaml\)$",
        )

    def test_a_file_that_is_not_there_yet(self) -> None:
        self.with_file("kinds.yaml")
        self.assertEqual(
            self.refused(programs.file, "kinds.yaml"),
            "kinds.yaml of example.org/wheels v1.36.4 is not there; run: e2e/e2e build",
        )


class Table(unittest.TestCase):
    def test_knows_every_program_once_and_its_version(self) -> None:
        self.assertEqual(len(set(programs.names())), len(programs.names()))
        versions = {module.folder.name: module.version for module in programs.MODULES}
        self.assertEqual(versions["kubernetes"], "v1.36.4")
        kubernetes = programs.module_of("kubelet")
        self.assertIn("k8s.io/component-base/version.gitVersion=v1.36.4 ", kubernetes.flags())

    def test_what_few_scenarios_need_is_not_built_for_all(self) -> None:
        self.assertEqual(
            set(programs.names()) - set(programs.usual()),
            {"gpu-kubelet-plugin", "gpu-operator", "mps-control-daemon", "nfd-master", "nfd-worker"},
        )

    def test_builds_the_device_plugin_and_its_mps_daemon_from_one_version(self) -> None:
        self.assertEqual(
            programs.module_of("nvidia-device-plugin").version,
            programs.module_of("mps-control-daemon").version,
        )


if __name__ == "__main__":
    unittest.main()
