#!/usr/bin/env bash
# installed, upgraded and removed on a running system it starts, stops and restarts nothing
source "$(dirname "$0")/../common.sh"
package_newer
# A system that runs, as far as maintainer scripts can see; what they ask of it is written down.
mkdir -p $root/run/systemd/system
mv $root/usr/bin/systemctl $root/usr/bin/systemctl.real
cat >$root/usr/bin/systemctl <<'RECORD'
#!/bin/sh
echo "$*" >>/asked
case "$*" in *--root=*) exec systemctl.real "$@" ;; esac
RECORD
chmod +x $root/usr/bin/systemctl
# asked NEEDED…: of systemd, all of this and nothing but that it reads its units or presets anew, and whether the agent
# runs: then its daemons of MPS are left to it.
asked() {
  if grep -vE 'daemon-reload|preset|is-enabled|is-active --quiet partita-agent.service' $root/asked; then fail "more was asked of systemd: $(cat $root/asked)"; fi
  grep -q daemon-reload $root/asked || fail "systemd was not told of the units"
  rm $root/asked
}
install_package
asked
install_package newer
asked
apt remove partita
asked
