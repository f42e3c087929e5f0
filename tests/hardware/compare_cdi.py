"""What `partita cdi generate` mounted on a real card against the files that its driver has there.

Usage: compare_cdi.py SPEC.yaml LIBS.txt
"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    mounted = set(re.findall(r"^ *- hostPath: (\S+)$", file.read(), re.M))
with open(sys.argv[2], encoding="utf-8") as file:
    listed = set(re.findall(r"^(/usr/local/nvidia/\S+)$", file.read(), re.M))

# A file of the driver has its version at the end; firmware lies in a folder of that name.
wanted = {path for path in listed if re.search(r"\.so\.\d+\.\d+\.\d+$|/firmware/.*\.bin$", path)}
wrong = [f"not mounted: {path}" for path in sorted(wanted - mounted)]
wrong += [f"mounted, and not the driver's: {path}" for path in sorted(mounted - listed)]
wrong += [f"mounted, and only a program is linked against it: {path}" for path in sorted(mounted) if "/stubs/" in path]
if not wanted:
    wrong.append(f"{sys.argv[2]} lists no file of the driver")
print("\n".join(wrong) or f"{len(mounted)} files mounted, {len(wanted)} of them of the driver's version")
sys.exit(1 if wrong else 0)
