#!/usr/bin/env bash
# Scripts here lock and remember in places of their own: MIG is changed, with and without a driver, where
# the places of the machine that runs them cannot be used.
if [ "${1:-}" != closed ]; then
  exec unshare --mount --propagation private sh -c '
    for place in /run /var/lib; do mount -t tmpfs tmpfs $place && mkdir $place/partita $place/partita-sim $place/cdi && mount -o remount,ro $place; done
    exec "$0" closed' "$0"
fi
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita mig apply --gpu 0 --want 7g.40gb --yes
partita-sim driver unload --node "$node" --force
run 0 on_node partita mig apply --gpu 1 --want off --mode-only
[ -z "$(find /run/partita /var/lib/partita -mindepth 1)" ] || fail "the places of the machine were used"
