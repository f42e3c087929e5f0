"""What passed and what failed, per judge and profile, and the table that says so at the end."""

import contextlib
import os
import time
import traceback

from support.shell import Failure, Log


class Session:
    """One judge on one profile: its log and its cases."""

    def __init__(self, results, judge, profile):
        self.judge = judge
        self.profile = profile
        name = f"{judge}-{profile}.log".replace(" ", "-")
        self.log = Log(os.path.join(results.log_directory, name))
        self.passed = 0
        self.failed = 0

    @contextlib.contextmanager
    def case(self, name):
        """A case fails by raising Failure (or by a defect of the judging code, with its trace)."""
        self.log.write(f"\n=== {name}")
        try:
            yield
        except Failure as failure:
            self.fail(name, str(failure))
        except Exception as error:  # a broken judge must not hide the results of the others
            self.log.write(traceback.format_exc())
            self.fail(name, f"{type(error).__name__}: {error}")
        else:
            self.passed += 1
            self.log.write(f"=== {name}: passed")

    def fail(self, name, message):
        self.failed += 1
        self.log.write(f"=== {name}: FAILED: {message}")
        print(f"FAIL {self.judge} on {self.profile}, {name}: {message}", flush=True)


class Results:
    def __init__(self, log_directory):
        self.log_directory = log_directory
        self._sessions = []

    @contextlib.contextmanager
    def session(self, judge, profile):
        session = Session(self, judge, profile)
        self._sessions.append(session)
        start = time.monotonic()
        try:
            yield session
        except Failure as failure:
            session.fail("outside any case", str(failure))
        finally:
            session.log.close()
            seconds = time.monotonic() - start
            verdict = "FAIL" if session.failed else "ok"
            print(
                f"{verdict:4} {judge} on {profile}: {session.passed} passed, "
                f"{session.failed} failed ({seconds:.1f} s)"
                + (f", log: {session.log.path}" if session.failed else ""),
                flush=True,
            )

    @property
    def passed(self):
        return sum(session.passed for session in self._sessions)

    @property
    def failed(self):
        return sum(session.failed for session in self._sessions)

    def table(self, judges, profiles):
        """Judges down, profiles across, in the given order; a cell counts passed cases of all."""
        cells = {(s.judge, s.profile): cell(s) for s in self._sessions}
        rows = [["judge", *profiles]]
        rows += [[judge, *(cells.get((judge, p), "-") for p in profiles)] for judge in judges]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)) for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(line.rstrip() for line in lines)


def cell(session):
    total = session.passed + session.failed
    return f"FAIL {session.passed}/{total}" if session.failed else f"ok {total}"

