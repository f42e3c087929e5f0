#!/usr/bin/env bash
# nvidia-ctk config, which is partita runtime config: the file or the defaults, with keys set by their kind; comments and
# unknown keys stay; nothing is written that the runtime would refuse.
source "$(dirname "$0")/common.sh"
mkdir "$work/bin" && ln -s "$PARTITA_BIN/partita-hook" "$work/bin/nvidia-ctk"
PATH=$work/bin:$PATH
export NVIDIA_CTK_CONFIG_FILE_PATH=$work/etc/config.toml

run 0 nvidia-ctk config default
silent err
shows 'disable-require = false' '#swarm-resource = "DOCKER_RESOURCE_GPU"' '[nvidia-container-runtime.modes.cdi]' \
  'spec-dirs = ["/etc/cdi", "/var/run/cdi"]' '#restrict-proc = false'
cp "$work/out" "$work/defaults"
# Without a file these are what is in force.
run 0 nvidia-ctk config
cmp "$work/out" "$work/defaults" || fail "other defaults"
[ ! -e "$work/etc" ] || fail "something was written"

# In place: the file is made; a second time changes nothing.
run 0 nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi --set features.restrict-proc
silent out
grep -qx 'mode = "cdi"' "$work/etc/config.toml" || fail "the mode is not set"
before=$(stat -c %i "$work/etc/config.toml")
run 0 nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi --set features.restrict-proc
[ "$(stat -c %i "$work/etc/config.toml")" = "$before" ] || fail "it was written again"

# What is there already stays, to the byte.
cat >"$work/mine.toml" <<'END'
# mine
future-key = 7   # of a newer one
[nvidia-container-runtime]   # the runtime
runtimes = ["runc"] # one
[features]
restrict-proc = false
END
chmod 640 "$work/mine.toml"
run 0 nvidia-ctk config --config-file "$work/mine.toml" --set nvidia-container-runtime.runtimes=/opt/runc:crun \
  --set features.restrict-proc=nil --set disable-require --output "$work/new.toml"
complains 'unknown key "future-key"'
diff "$work/new.toml" - >"$work/err" <<'END' || fail "another file"
# mine
future-key = 7   # of a newer one
disable-require = true
[nvidia-container-runtime]   # the runtime
runtimes = ["/opt/runc", "crun"] # one
[features]
END
run 0 partita runtime config --config "$work/mine.toml" --in-place --set features.restrict-proc=true
[ "$(stat -c %a "$work/mine.toml")" = 640 ] || fail "another mode"
grep -qx 'restrict-proc = true' "$work/mine.toml" || fail "not in place"

# A file that somebody names is meant to be there.
run 0 partita runtime config --config "$work/mien.toml"
complains "$work/mien.toml is not there: this is of the defaults"

# Refused, and nothing is written.
cp "$work/mine.toml" "$work/before"
refuses() {
  run 1 nvidia-ctk config --config-file "$work/mine.toml" --in-place "$@"
  cmp "$work/mine.toml" "$work/before" || fail "it was written"
}
refuses --set nvidia-container-runtime.mod=cdi
complains 'there is no key "nvidia-container-runtime.mod"' "did you mean nvidia-container-runtime.mode?"
refuses --set disable-require=perhaps
complains 'disable-require: expected true or false, not "perhaps"'
refuses --set nvidia-container-cli.ldconfig=/sbin/ldconfig
complains 'is no path of the host' "with @ in front"
refuses --set disable-require --output "$work/other"
complains "--in-place writes to the file that was read"
echo 'a = = 1' >"$work/bad.toml"
run 1 nvidia-ctk config --config-file "$work/bad.toml"
complains "$work/bad.toml:1:5"
run 2 partita runtime config --set x
complains 'there is no key "x"'
# A disk that is full.
mkdir "$work/full"
mount -t tmpfs -o nr_inodes=1 none "$work/full"
on_exit+=("umount $work/full")
run 1 nvidia-ctk config --output "$work/full/config.toml"
complains "No space left on device"
[ -z "$(ls "$work/full")" ] || fail "something stays"
