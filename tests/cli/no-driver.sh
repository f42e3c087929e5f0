#!/usr/bin/env bash
# Without a driver: exit status 6, what was tried and what to do, and nothing on standard output.
source "$(dirname "$0")/common.sh"

run 6 partita status --library "$work/libnvidia-ml.so.1" --host-root "$work"
silent out
complains "$work/libnvidia-ml.so.1" "--driver-root DIR or --library FILE"
run 6 partita status --watch --library "$work/libnvidia-ml.so.1" --host-root "$work"
silent out
complains "$work/libnvidia-ml.so.1"
