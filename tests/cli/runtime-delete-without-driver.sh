#!/usr/bin/env bash
# What is no create always reaches runc: without a driver, with a bundle or a config.toml that is broken. Only a missing
# runc keeps it from there.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
bundle NVIDIA_VISIBLE_DEVICES=all
echo '{' >"$config"
for words in "delete box" "delete --force create" "kill box 9" "state box" "start box" "--root create state box"; do
  rm -f "$record"
  (cd "$work/bundle" && run 0 nvidia-container-runtime $words) || exit 1
  forwarded
  silent err
done

printf '[nvidia-container-runtime\n' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
rm -f "$record"
run 0 nvidia-container-runtime delete box
forwarded
cp "$config" "$work/before"
rm -f "$record"
run 1 create
complains "nvidia-container-runtime: error: error loading config: $NVIDIA_CTK_CONFIG_FILE_PATH:1:"
refused

printf '[nvidia-container-runtime]\nruntimes = ["no-such-runtime", "/no/such"]\n' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
for words in "delete box" "create box"; do
  run 1 nvidia-container-runtime $words
  complains 'error: no low-level runtime: "no-such-runtime" is nowhere in PATH, "/no/such" is not there' \
    'hint: nvidia-container-runtime.runtimes of config.toml names them'
done

# The first that is there, by name or by path; this program under runc's name is none.
cp "$work/bin/runc" "$work/bin/crun"
printf '[nvidia-container-runtime]\nruntimes = ["/no/such", "crun", "runc"]\n' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
run 0 nvidia-container-runtime state box
grep -qxF "argument 0: $work/bin/crun" "$work/bin/crun.record" || fail "crun was not called"
: >"$NVIDIA_CTK_CONFIG_FILE_PATH"
mkdir "$work/first" && ln -s "$PARTITA_BIN/partita-hook" "$work/first/runc"
rm -f "$record"
PATH=$work/first:$PATH run 0 nvidia-container-runtime state box
forwarded
