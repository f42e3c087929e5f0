#!/usr/bin/python3 -B
"""The file of an agent's compute modes (/var/lib/partita/mps-modes) as it would be in another boot, on standard output.
Usage: modes_of_boot.py FILE BOOT_ID"""

import hashlib
import re
import sys
from pathlib import Path


def main(file: str, boot: str) -> None:
    header, _, payload = Path(file).read_text(encoding="utf-8").partition("\n")
    payload = re.sub(r'("bootId": *")[^"]*', rf"\g<1>{boot}", payload)
    data = payload.encode()
    header = re.sub(r"sha256=\S+ len=\d+", f"sha256={hashlib.sha256(data).hexdigest()} len={len(data)}", header)
    print(header, payload, sep="\n", end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
