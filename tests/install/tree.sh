#!/usr/bin/env bash
# An installation has every file, its links act as NVIDIA's programs, the manual renders, completion
# loads, units are right, and uninstall removes it all. Usage: tree.sh BUILD
source "$(dirname "$0")/../cli/common.sh"
build=$1
root=$work/root
# What the last `make install` put where stays known: `make uninstall` reads it.
manifest=$build/install_manifest.txt
if [ -e "$manifest" ]; then
  cp -p "$manifest" "$work/manifest"
  on_exit+=('cp -p "$work/manifest" "$manifest"')
else
  on_exit+=('rm -f "$manifest"')
fi
run 0 env DESTDIR="$root" cmake --install "$build" --prefix /usr

zsh=share/zsh/site-functions
[ ! -e /etc/debian_version ] || zsh=share/zsh/vendor-completions
names="nvidia-mig-parted nvidia-device-plugin gpu-feature-discovery"
named() { for name in partita $names; do echo "$1$name$2"; done; }
cat >"$work/wanted" <<LIST
/etc/nvidia-mig-manager
$(named /usr/bin/ "")
/usr/bin/partita-hook
/usr/lib/systemd/system/nvidia-gpu-reset.target
/usr/lib/systemd/system/partita-agent.service
/usr/lib/systemd/system/partita-mig.service
$(named /usr/share/bash-completion/completions/ "")
$(named /usr/share/fish/vendor_completions.d/ .fish)
$(named /usr/share/man/man1/ .1)
/usr/share/man/man1/partita-hook.1
$(cd "$source_root" && printf '/usr/share/partita/schemas/%s\n' $(cd apis && ls ./*.schema.json | sed 's|./||'))
$(named "/usr/$zsh/_" "")
LIST
(cd "$root" && find . \( -type f -o -type l -o -type d -empty \) -printf '/%P\n' | LC_ALL=C sort) >"$work/found"
LC_ALL=C sort "$work/wanted" | diff - "$work/found" >"$work/out" || fail "other files than wanted"

# All names act, from there, on a machine without a GPU too.
run 0 "$root/usr/bin/partita" version
run 3 "$root/usr/bin/nvidia-mig-parted" bogus
run 0 "$root/usr/bin/partita-hook" noop
up h200-vm
run 0 on_node "$root/usr/bin/nvidia-mig-parted" export
shows "mig-enabled: false"
run 0 on_node "$root/usr/bin/gpu-feature-discovery" --oneshot --use-node-feature-api=false -o ""
shows nvidia.com/gpu.product=NVIDIA-H200
run 0 "$root/usr/bin/nvidia-device-plugin" --version

for page in partita partita-hook $names; do
  run 0 groff -man -Tutf8 -ww "$root/usr/share/man/man1/$page.1"
  silent err
  shows "$page"
done

# offers NAME WORD…: what Tab offers in bash, with nothing loaded but the installed file.
offers() {
  run 0 bash --norc -c '
    source "$1/usr/share/bash-completion/completions/$2"
    COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
    "$(complete -p "$2" | sed "s/.*-F \([^ ]*\) .*/\1/")"
    printf "%s\n" "${COMPREPLY[@]}"' - "$root" "$@"
}
offers partita mi
shows mig
offers nvidia-mig-parted ass
shows assert
offers gpu-feature-discovery --one
shows --oneshot
if command -v zsh >/dev/null; then
  for name in partita $names; do run 0 zsh -n "$root/usr/$zsh/_$name"; done
fi
if command -v fish >/dev/null; then
  for name in partita $names; do
    run 0 fish --no-execute "$root/usr/share/fish/vendor_completions.d/$name.fish"
  done
fi

units=$root/usr/lib/systemd/system
grep -qx 'ExecStart=/usr/bin/partita mig boot' "$units/partita-mig.service" || fail "the unit starts another program"
# A reset of each of many GPUs takes longer than systemd waits by itself (90 s).
grep -qx TimeoutStartSec=infinity "$units/partita-mig.service" || fail "the boot unit has a limit"
grep -qx 'ExecStart=/usr/bin/partita agent' "$units/partita-agent.service" || fail "the agent's unit starts another program"
if command -v systemd-analyze >/dev/null; then
  # The program is looked for on this machine, so the unit under test names it where it is.
  mkdir "$work/units"
  for unit in partita-agent.service partita-mig.service; do
    sed "s|=/usr/bin/partita|=$root/usr/bin/partita|" "$units/$unit" >"$work/units/$unit"
  done
  cp "$units/nvidia-gpu-reset.target" "$work/units"
  run 0 systemd-analyze verify --man=no --recursive-errors=no "$work/units"/*
  ! grep -F "$work/units" "$work/err" || fail "systemd has something to say about the units"
fi

# Another prefix: units follow it, and nothing is written outside of it.
other=$work/other
run 0 env DESTDIR="$other" cmake --install "$build" --prefix /opt/partita
grep -qx 'ExecStart=/opt/partita/bin/partita mig boot' "$other/opt/partita/lib/systemd/system/partita-mig.service" ||
  fail "the unit ignores the prefix"
grep -qx 'ExecReload=/opt/partita/bin/partita config reload' \
  "$other/opt/partita/lib/systemd/system/partita-agent.service" || fail "the agent's unit ignores the prefix"
[ "$(ls "$other")" = opt ] || fail "files outside of the prefix"
run 0 "$source_root/scripts/uninstall" "$build" "$other"
[ -z "$(find "$other" -type f -o -type l)" ] || fail "uninstall left $(find "$other" -type f -o -type l)"
