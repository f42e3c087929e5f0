#!/usr/bin/env bash
# A good configuration is taken in place, by SIGHUP or by command; a bad one changes nothing, is told with
# its place, and does not stop a restart either: the last good one is in force. A file that is replaced is
# read without being told.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

# What a link points to elsewhere is not watched, and nothing else happens beside it: each reload here is
# somebody's.
mkdir "$work/etc" "$work/link"
mv "$PARTITA_CONFIG_FILE" "$work/etc/config.yaml"
PARTITA_CONFIG_FILE=$work/link/config.yaml
ln -s ../etc/config.yaml "$PARTITA_CONFIG_FILE"
start_agent it
await it "STATUS=running*"
other=$work/other.sock
printf 'version: partita/v1\nlisten: unix:%s\nlog: {format: json}\n' "$other" >"$PARTITA_CONFIG_FILE"
kill -HUP "${agent[it]}"
await it RELOADING=1
await it 'MONOTONIC_USEC=[0-9]*'
await it READY=1
[ ! -e "$http" ] || fail "it still listens where it did"
http=$other page /readyz
shows 200
logged it '"message":"configuration reloaded"'

run 0 partita config reload
shows "in force; nothing changed"
echo 'lissten: ""' >>"$PARTITA_CONFIG_FILE"
run 2 partita config reload
silent out
complains "$PARTITA_CONFIG_FILE:4:1: unknown key \"lissten\"" "did you mean \"listen\"?"
http=$other page /readyz
shows 200

kill "${agent[it]}"
ended it 0
start_agent again
await again "STATUS=running; config: the last good one is in force: $PARTITA_CONFIG_FILE:4:1: unknown key *"
http=$other page /readyz
shows 200 "[+] config (the last good one is in force: $PARTITA_CONFIG_FILE:4:1: unknown key"
logged again "bad configuration: the last good one is in force" "lissten"
echo "$good_config" >"$PARTITA_CONFIG_FILE"
run 0 partita config reload
shows "changed: listen, log.format"
await again RELOADING=1
await again READY=1
page /readyz
shows 200

# In its own place the file need only become another.
printf 'version: partita/v1\nlisten: unix:%s\n' "$other" >"$work/new.yaml"
mv "$work/new.yaml" "$PARTITA_CONFIG_FILE"
await again RELOADING=1
await again READY=1
http=$other page /readyz
shows 200
