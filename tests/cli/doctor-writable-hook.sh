#!/usr/bin/env bash
# A hook that others than root may change, and one that is missing: no container may start with them.
source "$(dirname "$0")/doctor_common.sh"

chmod 0775 "$bin/partita-hook"
run 1 doctor
shows "BAD      others than root may change /usr/local/bin/partita-hook, which runs as root" "chmod go-w"
chmod 0755 "$bin/partita-hook"
chmod 0777 "$bin"
run 1 doctor
shows "BAD      others than root may change /usr/local/bin/partita-hook"
chmod 0755 "$bin"
run 0 doctor
chmod 0644 "$bin/partita-hook"
run 1 doctor
shows "BAD      /usr/local/bin/partita-hook is named as a hook and cannot be executed" "$ chmod 0755"
rm "$bin/partita-hook"
run 1 doctor
shows "BAD      /usr/local/bin/partita-hook is named as a hook and is not there"
