#!/usr/bin/env python3
"""Compares `partita mig layouts` and `mig plan` of an H200 with what follows from nvidia-smi's listing of one.

  compare_mig_layouts.py LAYOUTS.txt PLAN.txt MIG_PROFILES.txt

The layouts are counted again here by trying every placement that nvidia-smi lists: no two overlap, no
profile is there more often than the listing's total, and the engines suffice.
"""
import re
import sys
from collections import Counter

from compare_mig import listed

# An instance uses the engines of the whole GPU, of which a profile that spans it has all.
ENGINES = ("decoders", "jpegEngines", "opticalFlowEngines")


def slices(profile):
    return int(profile["name"].split("g.")[0])


def fits(instances, profiles, whole):
    if sum(slices(profiles[number]) for number, _ in instances) > slices(whole):
        return False
    counts = Counter(number for number, _ in instances)
    if any(count > profiles[number]["maxInstances"] for number, count in counts.items()):
        return False
    return all(sum(profiles[number][engine] for number, _ in instances) <= whole[engine] for engine in ENGINES)


def layouts(profiles):
    """Every legal set of (profile, start), each once."""
    places = [(number, place["start"], place["size"]) for number, profile in profiles.items()
              for place in profile["placements"]]
    whole = max(profiles.values(), key=slices)
    found = []

    def extend(chosen, after):
        found.append(frozenset(chosen))
        for position in range(after, len(places)):
            number, start, size = places[position]
            overlaps = any(start < other + other_size and other < start + size
                           for other, other_size in ((s, sizes[n]) for n, s in chosen))
            candidate = chosen + [(number, start)]
            if not overlaps and fits(candidate, profiles, whole):
                extend(candidate, position + 1)

    sizes = {number: profile["placements"][0]["size"] for number, profile in profiles.items()}
    extend([], 0)
    return found


def contains(larger, smaller):
    return larger != smaller and not smaller - larger


def names(layout, profiles):
    return Counter(profiles[number]["name"] for number, _ in layout)


def expected_counts(profiles):
    every = layouts(profiles)
    as_sets = set(every)
    full = [one for one in every if not any(contains(other, one) for other in as_sets)]
    multisets = {frozenset(names(one, profiles).items()) for one in every}
    counted = [Counter(dict(one)) for one in multisets]
    maximal = [one for one in counted if not any(contains(other, one) for other in counted)]
    return len(every), len(full), len(multisets), maximal


def shown_layouts(path):
    """The four figures of the heading, and what each row holds."""
    text = open(path, encoding="utf-8").read()
    figures = re.search(r"(\d+) layouts, (\d+) of them full; (\d+) sets of instances, (\d+) that", text)
    rows = []
    for line in text.splitlines():
        row = re.match(r"\s+│.*│\s+\d+  (.+)$", line)
        if row:
            held = Counter()
            for part in row[1].split(", "):
                count, name = re.fullmatch(r"(?:(\d+) ?[x×] ?)?(\S+)", part.strip()).groups()
                held[name] += int(count or 1)
            rows.append(held)
    return tuple(map(int, figures.groups())), rows


def check_plan(path, profiles):
    """The plan's instances are placed where nvidia-smi says such a profile may start, and do not overlap."""
    by_name = {profile["name"]: profile for profile in profiles.values()}
    taken, wrong = set(), []
    steps = re.findall(r"create GPU instance (\S+) at slice (\d+)", open(path, encoding="utf-8").read())
    for name, start in steps:
        place = next((p for p in by_name[name]["placements"] if p["start"] == int(start)), None)
        if place is None:
            wrong.append("plan: %s at slice %s is no place that nvidia-smi lists" % (name, start))
            continue
        covered = set(range(place["start"], place["start"] + place["size"]))
        if covered & taken:
            wrong.append("plan: %s at slice %s overlaps another" % (name, start))
        taken |= covered
    if not steps:
        wrong.append("plan: creates nothing")
    return wrong


def main(layouts_path, plan_path, listing_path):
    profiles = listed(listing_path)
    figures, rows = shown_layouts(layouts_path)
    every, full, multisets, maximal = expected_counts(profiles)
    want = (every, full, multisets, len(maximal))
    wrong = check_plan(plan_path, profiles)
    if figures != want:
        wrong.append("layouts: partita says %s, the listing allows %s" % (figures, want))
    form = lambda held: tuple(sorted(held.items()))
    for missing in {form(one) for one in maximal} - {form(one) for one in rows}:
        wrong.append("layouts: partita does not show %s" % (missing,))
    for beyond in {form(one) for one in rows} - {form(one) for one in maximal}:
        wrong.append("layouts: partita shows %s, which the listing does not allow or another contains" % (beyond,))
    print("\n".join(wrong))
    print("%d layouts, %d rows and a plan compared, %d differ" % (every, len(rows), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
