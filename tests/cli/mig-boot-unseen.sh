#!/usr/bin/env bash
# A file that the boot unit cannot see is not selected for the next boot: what was applied counts. And where
# one is selected all the same, the boot falls back to what was applied, says so and ends with status 1.
# With mounts of its own: places that are the same on every machine.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run HOST_MIG_MANAGER_STATE_FILE=$work/override.conf
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
mkdir "$work/home" "$work/root" "$work/srv"
# The tree, the build and this test's own folder stay where they are, also in somebody's home.
kept=("$source_root" "${PARTITA_BIN%/*}" "$work")
exec 7<"${kept[0]}" 8<"${kept[1]}" 9<"${kept[2]}"
for place in home root srv; do mount --no-canonicalize --bind "/proc/self/fd/9/$place" "/$place"; done
for i in 0 1 2; do
  [ "/proc/$$/fd/$((7 + i))" -ef "${kept[i]}" ] && continue
  mkdir -p "${kept[i]}"
  mount --no-canonicalize --bind "/proc/self/fd/$((7 + i))" "${kept[i]}"
done
exec 7<&- 8<&- 9<&-
# What a boot empties, wherever the temporary files of tests are.
passing=$(mktemp -d /tmp/partita-cli.XXXXXX)
on_exit+=('rm -r "$passing"')

up h200-vm
on_exit+=("umount -l /home /root /srv")
cat >/home/mig.yaml <<'YAML'
version: v1
mig-configs:
  ones: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
YAML
printf 'version: v1\n' >/home/hooks.yaml
cp /home/mig.yaml "$passing/mig.yaml"
cp /home/mig.yaml /root/mig.yaml
ln -s /home/mig.yaml /srv/link.yaml

for file in /home/mig.yaml /root/mig.yaml /srv/link.yaml; do
  for program in "partita mig" "$work/nvidia-mig-parted"; do
    printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=all-disabled"\n' >"$work/override.conf"
    # shellcheck disable=SC2086
    run 0 on_node $program apply -f "$file" -c ones
    complains "$file" "home directories" "mig.json"
    printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG="\n' | cmp - "$work/override.conf" || fail "$file is selected"
  done
done
run 0 on_node "$work/nvidia-mig-parted" apply -f "$passing/mig.yaml" -c ones -k /home/hooks.yaml
complains "$passing/mig.yaml" "does not outlive a boot" "/home/hooks.yaml" "home directories"
! grep -q HOOKS "$work/override.conf" || fail "hooks that the boot cannot see are selected"

# The name counts as well as what it leads to, and "..", after a link, is not the folder before it.
cp /home/mig.yaml /srv/mig.yaml
ln -s /srv/mig.yaml /home/link-to-srv.yaml
printf '[Service]\n' >"$work/override.conf"
run 0 on_node partita mig apply -f /home/link-to-srv.yaml -c ones
complains "/home/link-to-srv.yaml is not selected" "home directories"
on_node partita mig apply -f /dev/stdin -c ones </srv/mig.yaml >"$work/out" 2>"$work/err" || fail "exit status $?"
complains "/dev/stdin is not selected" "does not outlive a boot"
mkdir -p /srv/deep/er
ln -s /srv/deep/er /srv/link
cp /srv/mig.yaml /srv/deep/other.yaml
run 0 on_node partita mig apply -f /srv/link/../other.yaml -c ones
silent err
grep -qx 'Environment="MIG_PARTED_CONFIG_FILE=/srv/link/../other.yaml"' "$work/override.conf" || fail "another file is selected"

# A drop-in that another program wrote.
partita-sim reboot --node "$node" >/dev/null
run 1 on_node partita mig boot --config-file /srv/none.yaml --selected-config ones
complains "open /srv/none.yaml: No such file or directory" "what was applied last is in force, but "
run 0 on_node partita mig assert --want 1g.18gb:7
# Hooks that cannot be read cost no layout either; the boot says that none ran.
partita-sim reboot --node "$node" >/dev/null
run 1 on_node partita mig boot --hooks-file /srv/none.yaml
complains "no hook ran: open /srv/none.yaml" "what was applied last is in force, but "
run 0 on_node partita mig assert --want 1g.18gb:7
# A file with a mistake is one: nobody guesses.
echo 'version: v2' >/srv/wrong.yaml
run 2 on_node partita mig boot --config-file /srv/wrong.yaml --selected-config ones
# Nothing to fall back to.
rm "$PARTITA_STATE_DIR/mig.json"
run 2 on_node partita mig boot --config-file /srv/none.yaml --selected-config ones
complains "open /srv/none.yaml: No such file or directory"
