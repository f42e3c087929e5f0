#!/usr/bin/env bash
# a purge leaves nothing of it: the same files as before, but for the records of dpkg and apt
source "$(dirname "$0")/../common.sh"
# Every path with its kind, mode and target, and what is in /etc.
files() {
  (cd $root && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/log -o -path ./var/cache \) -prune \
    -o ! -path ./simulator ! -path './tmp/*' -printf '%p %y %m %l\n' | LC_ALL=C sort && find etc -type f -exec sha256sum {} + | LC_ALL=C sort)
  find $root/run -mindepth 1 -maxdepth 1 -printf 'run/%P\n'
}
mkdir $root/simulator
files >$work/before
install_package
# What the program wrote on a node, where it is on a real machine: a simulated one may have folders of
# its own for it.
simulate h200-vm
run 0 "${on_node[@]}" partita mig apply --yes --want 1g.18gb:2
run 0 "${on_node[@]}" cp -a /run/partita /tmp/run
run 0 "${on_node[@]}" cp -a /var/lib/partita /tmp/state
run 0 /simulator/bin/partita-sim down --node node
rm -rf $root/run/* $root/var/lib/partita
mv $root/tmp/run $root/run/partita
mv $root/tmp/state $root/var/lib/partita
there /var/lib/partita/mig.json /run/partita
apt purge partita
files >$work/after
diff $work/before $work/after >$work/out || fail "a purge leaves or changes files"
run 1 dpkg-query -W partita
