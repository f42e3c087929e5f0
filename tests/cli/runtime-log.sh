#!/usr/bin/env bash
# Logs are runc's: the file and form that the engine names, appended to; a file of our own beside it; none of them with
# --version; one that cannot be opened is a warning. --version tells ours and then runc's.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
shim() { on_node "$work/bin/nvidia-container-runtime" "$@"; }
bundle NVIDIA_VISIBLE_DEVICES=7
printf '[nvidia-container-runtime]\ndebug = "%s"\nlog-level = "loud"\n' "$work/deep/er/debug" >"$NVIDIA_CTK_CONFIG_FILE_PATH"
echo '{"level":"info","msg":"before"}' >"$work/log"
run 1 shim --log "$work/log" --log-format json create --bundle "$work/bundle" box
complains 'warning: invalid log-level "loud": it is info'
python3 - "$work" <<'SCRIPT' || fail "logs"
import json, re, sys
log, debug = ([json.loads(line) for line in open(f"{sys.argv[1]}/{name}")] for name in ("log", "deep/er/debug"))
assert log[0]["msg"] == "before" and log[1:] == debug, (log, debug)
assert [line["level"] for line in debug] == ["warning", "error"], debug
assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"]) for line in debug)
SCRIPT
rm "$work/log"
run 1 shim --log="$work/log" create --bundle "$work/bundle" box
grep -qE '^time="[0-9TZ:-]+" level=error msg="could not apply .*"$' "$work/log" || fail "text: $(cat "$work/log")"

: >"$NVIDIA_CTK_CONFIG_FILE_PATH"
run 1 shim --log /proc/none/log create --bundle "$work/bundle" box
complains "warning: failed to open log file: " "error: could not apply"
bundle NVIDIA_VISIBLE_DEVICES=0
run 0 shim --debug --log "$work/log" --log-format json create --bundle "$work/bundle" box
grep -qF '"level":"debug","msg":"calling ' "$work/log" || fail "no debug line"

rm "$work/log"
run 0 shim --version --log "$work/log"
shows "NVIDIA Container Runtime, by partita, version $(partita version | grep -oE '[0-9.]+' | head -1)" "spec: 1."
forwarded
[ ! -e "$work/log" ] || fail "--version opened a log"
