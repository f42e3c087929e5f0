#!/usr/bin/env bash
# The commands that are printed are for pasting: whatever a file is called, and for the file that it is about.
source "$(dirname "$0")/doctor_common.sh"

touch "$host/etc/cdi/a b;\$(id).yml"
run 0 doctor
shows "\$ mv -n '/etc/cdi/a b;\$(id).yml' '/etc/cdi/a b;\$(id).yaml'"
rm "$host/etc/cdi/"a*
sed -i "s|/usr/local/bin/partita-hook|/opt/it's here/hook|" "$host/etc/cdi/nvidia.yaml"
install -D -m 0644 /bin/true "$host/opt/it's here/hook"
run 1 doctor
shows "\$ chmod 0755 '/opt/it'\\''s here/hook'"
chmod 0775 "$host/opt/it's here/hook"
run 1 doctor
shows "\$ chown root:root '/opt/it'\\''s here/hook' '/opt/it'\\''s here' && chmod go-w '/opt/it'\\''s here/hook' '/opt/it'\\''s here'"

# The file that names a missing hook is the one to write again.
rm "$host/opt/it's here/hook"
run 1 doctor
shows "\$ partita cdi generate $host/etc/cdi/nvidia.yaml"

# A capability's node that is missing is made: without it no file could be written.
on_node nvidia-smi -i 0 -mig 1 >/dev/null
on_node nvidia-smi mig -i 0 -cgi 9 -C >/dev/null
run 0 on_node partita cdi generate "$work/cdi/nvidia.yaml"
cap=$(grep -om1 '/dev/nvidia-caps/nvidia-cap[0-9]*' "$work/cdi/nvidia.yaml")
was=$(on_node stat -c '%a %t %T' "$cap")
on_node rm "$cap"
run 1 on_node partita doctor --spec-dir "$work/cdi" --hooks-dir "$work/none"
shows "BAD      device nodes are missing: $cap"
mend=$(grep -A1 -F "device nodes are missing: $cap" "$work/out" | sed -n 's/^         \$ //p')
run 0 on_node bash -ec "$mend"
[ "$(on_node stat -c '%a %t %T' "$cap")" = "$was" ] || fail "another node was made by: $mend"
run 0 on_node partita cdi generate "$work/cdi/nvidia.yaml"
