#!/usr/bin/env bash
# A dry run shows the differences, for people and for programs, and writes nothing.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
printf '{\n  "debug": true\n}\n' >"$work/etc/daemon.json"
cp -a "$work/etc" "$work/before"
run 0 partita runtime configure --runtime docker --config "$work/etc/daemon.json" --dry-run
cat >"$work/wanted" <<END
--- $work/etc/daemon.json
+++ $work/etc/daemon.json
@@ -1,3 +1,9 @@
 {
-  "debug": true
+  "debug": true,
+  "runtimes": {
+    "nvidia": {
+      "path": "nvidia-container-runtime",
+      "args": []
+    }
+  }
 }
END
cmp "$work/wanted" "$work/out" || fail "another diff"

run 0 partita runtime configure --runtime containerd --config "$work/etc/config.toml" \
  --drop-in-config "$work/etc/conf.d/99-nvidia.toml" --set-as-default --dry-run -o json
shows '"engine": "containerd"' '"done": false' '"change": "created"' 'default_runtime_name = \"nvidia\"' \
  '"restart": "systemctl restart containerd"'
by_schema runtime-v1 "$work/out"
diff -r "$work/before" "$work/etc" || fail "a dry run wrote something"
[ ! -e "$work/state" ] || fail "a dry run remembers something"

for engine in crio k3s rke2; do
  run 1 partita runtime configure --runtime "$engine" --dry-run
  complains "$engine cannot be configured by this version" "there are: docker, containerd, podman"
done

# What is configured need not be there yet, but that is said.
run 0 partita runtime configure --config "$work/etc/daemon.json" --runtime-path "$work/none" --dry-run
complains "$work/none is not there, or cannot be executed: until it is, no container of the runtime nvidia starts"
run 0 partita runtime configure --runtime podman --config "$work/etc/hook.json" --runtime-path "$work/none" --dry-run
complains "$work/none is not there, or cannot be executed: until it is, no container of podman's starts"
run 0 partita runtime configure --config "$work/etc/daemon.json" --runtime-path /bin/true --dry-run
silent err
