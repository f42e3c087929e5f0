#!/usr/bin/env bash
# Which units hold GPUs while modes change: all that run, begin or reload, and none that does not. They are
# stopped from the last to the first and started in the order of the file.
source "$(dirname "$0")/common.sh"

mkdir "$work/bin"
cat >"$work/bin/systemctl" <<EOF
#!/bin/sh
echo "\$*" >>"$work/asked"
[ "\$1" = is-active ] || exit 0
shift
for unit; do echo "\${unit%.service}"; done
exit 3
EOF
chmod +x "$work/bin/systemctl"
cat >"$work/clients.yaml" <<'YAML'
version: v1
systemd-services: [active.service, failed.service, activating.service, inactive.service, reloading.service]
YAML
# under_systemd COMMAND…: on the node, with a /run of its own that says that systemd runs the machine.
under_systemd() {
  PATH=$work/bin:$PATH unshare --mount --propagation private sh -c \
    'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$@"' - \
    partita-sim run --node "$node" -- "$@"
}

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
partita-sim reboot --node "$node" --force >/dev/null
run 0 under_systemd partita mig boot --config-dir "$work/none" --gpu-clients-file "$work/clients.yaml"
cat >"$work/expected" <<'END'
is-active active.service failed.service activating.service inactive.service reloading.service
stop reloading.service
stop activating.service
stop active.service
--no-block start active.service
--no-block start activating.service
--no-block start reloading.service
END
cmp "$work/expected" "$work/asked" || { cp "$work/asked" "$work/out"; fail "systemctl was asked something else"; }

# The modes are right: nobody is asked for anything.
rm "$work/asked"
run 0 under_systemd partita mig boot --config-dir "$work/none" --gpu-clients-file "$work/clients.yaml"
[ ! -e "$work/asked" ] || fail "units were disturbed for nothing"
