#!/usr/bin/env python3
"""Compares `partita mig profiles --output json` of an H200 with what nvidia-smi listed on a real one.

  compare_mig.py PROFILES.json MIG_PROFILES.txt
"""
import json
import re
import sys


def listed(path):
    """Profiles of `nvidia-smi mig -lgip` and placements of `-lgipp`, by profile id."""
    profiles, last = {}, None
    for line in open(path, encoding="utf-8"):
        first = re.match(r"\|\s+0\s+MIG (\S+)\s+(\d+)\s+\d+/(\d+)\s+([\d.]+)\s+(Yes|No)\s+(\d+)\s+(\d+)\s+(\d+)", line)
        second = re.match(r"\|\s+(\d+)\s+(\d+)\s+(\d+)\s+\|", line)
        places = re.match(r"GPU\s+0 Profile ID\s+(\d+) Placements? ?: \{([\d,]+)\}:(\d+)", line)
        if first:
            name, number, total, gib, p2p, sm, dec, enc = first.groups()
            last = profiles[int(number)] = {
                "name": name, "maxInstances": int(total), "memoryMebibytes": round(float(gib) * 1024),
                "peerToPeer": p2p == "Yes", "multiprocessors": int(sm), "decoders": int(dec), "encoders": int(enc),
            }
        elif second and last is not None:
            last["copyEngines"], last["jpegEngines"], last["opticalFlowEngines"] = map(int, second.groups())
        elif places:
            number, starts, size = places.groups()
            profiles[int(number)]["placements"] = [{"start": int(s), "size": int(size)} for s in starts.split(",")]
    return profiles


def main(profiles_path, listing_path):
    kinds = json.load(open(profiles_path, encoding="utf-8"))["kinds"]
    ours = {profile["id"]: profile for profile in kinds[0]["profiles"]}
    theirs = listed(listing_path)
    wrong = []
    if sorted(ours) != sorted(theirs):
        wrong.append("profile ids: partita says %s, nvidia-smi %s" % (sorted(ours), sorted(theirs)))
    compared = 0
    for number, want in theirs.items():
        for key, value in want.items():
            compared += 1
            got = ours.get(number, {}).get(key)
            if got != value:
                wrong.append("profile %d %s: partita says %r, nvidia-smi %r" % (number, key, got, value))
    print("\n".join(wrong))
    print("%s: %d facts of %d profiles compared, %d differ" % (profiles_path, compared, len(theirs), len(wrong)))
    return 1 if wrong or not theirs else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
