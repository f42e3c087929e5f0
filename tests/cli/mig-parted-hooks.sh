#!/usr/bin/env bash
# Hooks run around a change, in order, with the variables of the flags and nothing inherited; those
# of a change only when there is one; the last one whatever happens.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.18gb: 7}
  halves:
    - devices: all
      mig-enabled: true
      mig-devices: {3g.71gb: 2}
YAML
hook() {
  cat <<YAML
  $1:
    - command: /bin/sh
      args: ["-c", "echo $1 \$EXTRA >>log; /usr/bin/env | /usr/bin/grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | /usr/bin/sort >env; exit $2"]
      envs: {EXTRA: "more", MIG_PARTED_SKIP_RESET: "overlaid"}
      workdir: $work
YAML
}
{ echo "version: v1"; echo "hooks:"; hook apply-start 0; hook pre-apply-mode 0; hook pre-apply-config 0; hook apply-exit 0; } >"$work/hooks.yaml"

run 0 parted apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
printf '%s more\n' apply-start pre-apply-mode pre-apply-config apply-exit | cmp - "$work/log" || fail "other hooks ran"
cat >"$work/wanted" <<ENV
EXTRA=more
MIG_PARTED_CONFIG_FILE=$work/mig.yaml
MIG_PARTED_HOOKS_FILE=$work/hooks.yaml
MIG_PARTED_MODE_CHANGE_ONLY=false
MIG_PARTED_SELECTED_CONFIG=slices
MIG_PARTED_SKIP_RESET=false
ENV
cmp "$work/env" "$work/wanted" || { diff "$work/env" "$work/wanted" >&2; fail "another environment"; }

rm "$work/log"
run 0 parted apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
printf '%s more\n' apply-start apply-exit | cmp - "$work/log" || fail "hooks of a change ran without one"

# A hook that fails stops the change before it begins; the last hook runs all the same.
rm "$work/log"
{ echo "version: v1"; echo "hooks:"; hook apply-start 0; hook pre-apply-config 3; hook apply-exit 0; } >"$work/hooks.yaml"
run 1 parted apply -f "$work/mig.yaml" -c halves -k "$work/hooks.yaml"
complains "pre-apply-config"
printf '%s more\n' apply-start pre-apply-config apply-exit | cmp - "$work/log" || fail "other hooks ran"
run 0 parted assert -f "$work/mig.yaml" -c slices
