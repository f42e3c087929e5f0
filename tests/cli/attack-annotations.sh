#!/usr/bin/env bash
# Annotations are the user's: whatever is in them, a container gets the devices that they name or is refused; nothing
# of them becomes another member of config.json, a line of a log, or a path; and they make no container privileged.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
on_node partita cdi generate "$work/cdi/nvidia.yaml"
toml() { printf '%s\n[nvidia-container-runtime]\nmode = "%s"\n[nvidia-container-runtime.modes.cdi]\nspec-dirs = ["%s"]\n' "${2:-}" "$1" "$work/cdi" >"$NVIDIA_CTK_CONFIG_FILE_PATH"; }
toml cdi
# annotated KEY VALUE [ENTRY…]: a container with this annotation, any bytes, and this environment.
annotated() {
  bundle "${@:3}"
  python3 -ISB - "$config" "$1" "$2" <<'PY'
import json, sys
path, key, value = sys.argv[1:]
if value.startswith("@"):
    value = open(value[1:]).read()
it = json.load(open(path))
it["annotations"] = {key: value, "kept": "as it is"}
json.dump(it, open(path, "w"))
PY
  cp -p "$config" "$work/before"
}
create() { on_node "$work/bin/nvidia-container-runtime" --log "$work/log" --log-format json create --bundle "$work/bundle" box; }
refuses() {
  rm -f "$work/log"
  run 1 create
  refused
  complains "nvidia-container-runtime: error: could not apply required modification to OCI specification: "
  # One line each, of JSON, whatever the annotation has.
  python3 -ISB -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines and all(line["level"] in ("info", "warning", "error", "debug") for line in lines), lines' "$work/log" || fail "the log: $(cat -v "$work/log")"
  [ "$(wc -c <"$work/err")" -lt 100000 ] || fail "it says $(wc -c <"$work/err") bytes"
  if grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$work/err"; then fail "control characters are passed on"; fi
  if grep -qx 'nvidia-container-runtime: error: forged' "$work/err"; then fail "a line is forged"; fi
}
key=cdi.k8s.io/x
# The one that is right, so that the others show something.
annotated $key nvidia.com/gpu=0
run 0 create
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl" 'it["annotations"]["kept"]' "as it is"

for value in 'nvidia.com/gpu=0
nvidia-container-runtime: error: forged' $'nvidia.com/gpu=0\x01' $'nvidia.com/gpu=\x1b[2J' 'nvidia.com/gpu=0","path":"/dev/mem' \
  'nvidia.com/gpu=0"]},"process":{"user":{"uid":0' 'nvidia.com/gpu=../0' '../nvidia.com/gpu=0' '/etc/passwd' \
  'evil.com/gpu=0' 'nvidia.com/gpu=nobody' 'nvidia.com/gpu=0,evil.com/x=y' 'nvidia.com/gpu=' '=' 'nvidia.com/gpu' \
  'nvidia.com/gpu=0;id' '$(id)' 'management.nvidia.com/gpu=all' 'runtime.nvidia.com/gpu=../0' \
  'runtime.nvidia.com/gpu=0,nvidia.com/gpu=0'; do
  annotated $key "$value"
  refuses
done
annotated "$key/../../../etc" ../../etc=0
refuses

# Large ones: of 8 MiB, and of a hundred thousand devices, which are all the same or all unknown.
python3 -c 'print("nvidia.com/gpu=" + "9" * (8 << 20), end="")' >"$work/long"
annotated $key "@$work/long"
refuses
python3 -c 'print(",".join(f"nvidia.com/gpu=n{i}" for i in range(100000)), end="")' >"$work/many"
annotated $key "@$work/many"
refuses
python3 -c 'print(",".join(["nvidia.com/gpu=0"] * 100000), end="")' >"$work/same"
annotated $key "@$work/same"
run 0 create
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl" 'len(it["hooks"]["createContainer"]) < 10' True

# A file of somebody else's that defines the same device: neither is used.
sed 's|/dev/nvidia0|/dev/null|' "$work/cdi/nvidia.yaml" >"$work/cdi/other.yaml"
annotated $key nvidia.com/gpu=0
refuses
complains "cannot be used: defined by"
rm "$work/cdi/other.yaml"

# Not of the configured prefixes: nobody's.
annotated cdi.k8s.io.evil/x nvidia.com/gpu=0
run 0 create
untouched
# They give no right to what the environment asks for, and are of CDI alone.
strict='accept-nvidia-visible-devices-envvar-when-unprivileged = false'
toml auto "$strict"
for value in all 0 nvidia.com/gpu=nobody; do
  annotated other.io/x "$value" NVIDIA_VISIBLE_DEVICES=all
  run 0 create
  untouched
  complains "are ignored: the container is not privileged"
done
toml jit-cdi "$strict"
annotated $key nvidia.com/gpu=0 NVIDIA_VISIBLE_DEVICES=all
run 0 create
untouched
complains "are ignored: the container is not privileged"
# As a type that no annotation has.
toml cdi
for value in '["nvidia.com/gpu=0"]' '{"a":"nvidia.com/gpu=0"}' 0 null; do
  MORE=",\"annotations\":{\"$key\":$value}" bundle
  status=0
  create >"$work/out" 2>"$work/err" || status=$?
  [ "$(grep -c nvidia0 "$config")" = 0 ] || fail "a device by $value"
  [ "$status" -eq 0 ] || complains "is no text"
done
