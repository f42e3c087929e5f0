#!/usr/bin/env bash
# Under the name nvidia-ctk: cdi generate, cdi list and runtime configure by NVIDIA's flags and variables, with what
# partita's own commands do; every error ends with status 1; what is not here is refused by name.
source "$(dirname "$0")/common.sh"
up h200-vm
mkdir "$work/bin" && ln -s "$PARTITA_BIN/partita-hook" "$work/bin/nvidia-ctk"
PATH=$work/bin:$PATH

run 0 on_node nvidia-ctk cdi generate --output="$work/cdi/nvidia.yaml"
run 0 on_node partita cdi generate
cmp "$work/out" "$work/cdi/nvidia.yaml" || fail "another file than partita's"
run 0 on_node partita cdi generate --device-id 0 --vendor other.com -o json
cp "$work/out" "$work/wanted"
run 0 on_node env NVIDIA_CTK_CDI_GENERATE_VENDOR=other.com PARTITA_OUTPUT=yaml nvidia-ctk -d cdi generate --format json --devices 0
cmp "$work/out" "$work/wanted" || fail "another specification than partita's"
run 0 nvidia-ctk cdi list --spec-dir="$work/cdi"
shows nvidia.com/gpu=0 nvidia.com/gpu=all
run 0 nvidia-ctk runtime configure --runtime=docker --config="$work/daemon.json" --nvidia-set-as-default --cdi.enabled
grep -q '"default-runtime": "nvidia"' "$work/daemon.json" || fail "docker was not configured"

# The driver's root is that of config.toml.
echo 'nvidia-container-cli.root = "/no/such"' >"$work/config.toml"
run 1 on_node nvidia-ctk --config "$work/config.toml" cdi generate
complains /no/such
run 1 on_node nvidia-ctk --config "$work/none.toml" cdi generate
complains "$work/none.toml"
run 1 nvidia-ctk cdi generate --mode csv
run 1 nvidia-ctk cdi generate --bogus
complains 'there is no flag "--bogus"'
run 1 nvidia-ctk system create-dev-char-symlinks
complains 'nvidia-ctk system create-dev-char-symlinks is not here'
complains "ln -s ../nvidia0 /dev/char/195:0"
run 1 nvidia-ctk cdi transform root
complains "nvidia-ctk cdi transform is not here" "cdi generate --driver-root"
run 1 nvidia-ctk info
complains "partita status"
run 1 nvidia-ctk csv
complains 'there is no command "csv"' "nvidia-ctk --help lists them"

# Whoever asks, or names half a command, is told which there are.
for words in "" --help -h help; do
  run 0 nvidia-ctk $words
  silent err
  shows "Usage: nvidia-ctk" "cdi generate" "cdi list" "config default" "runtime configure" "hook" "system create-device-nodes"
done
run 0 nvidia-ctk cdi
shows "cdi generate" "cdi list" "cdi transform"
run 0 nvidia-ctk runtime
shows "runtime configure"
run 0 nvidia-ctk runtime configure --help
shows "--nvidia-set-as-default" "partita help runtime configure"
run 0 nvidia-ctk --version
run 0 nvidia-ctk hook noop
