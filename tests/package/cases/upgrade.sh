#!/usr/bin/env bash
# an upgrade keeps configuration, what was applied, and whether the unit is enabled
source "$(dirname "$0")/../common.sh"
package_newer
install_package
echo "version: v1" >$root/etc/nvidia-mig-manager/config.yaml
mkdir $root/var/lib/partita
echo kept >$root/var/lib/partita/mig.json
apt install --reinstall /packages/partita.deb
[ "$(enabled partita-mig.service)" = enabled ] || fail "the unit is $(enabled partita-mig.service)"
run 0 systemctl --root=/ disable partita-mig.service
install_package newer
run 0 dpkg-query -W -f '${Version}' partita
is "$version+newer"
[ "$(enabled partita-mig.service)" = disabled ] || fail "a disabled unit is $(enabled partita-mig.service)"
[ "$(cat $root/var/lib/partita/mig.json)" = kept ] || fail "what was applied is lost"
[ "$(cat $root/etc/nvidia-mig-manager/config.yaml)" = "version: v1" ] || fail "the configuration is lost"
