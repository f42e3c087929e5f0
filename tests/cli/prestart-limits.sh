#!/usr/bin/env bash
# What an image makes the prestart hook do is limited, in processor time and memory, from where it looks at the image
# on: the program that tells what GPUs there are has ended by then, and has no such limits.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
# In ldconfig's place, so that the hook waits until it was looked at.
gcc -static -o "$work/ldconfig" -x c - <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  char end;
  const int file = open("/wait", O_RDONLY);
  return file < 0 || read(file, &end, 1) < 0;
}
END
mkfifo "$rootfs/wait"
printf '[nvidia-container-cli]\nno-cgroups = true\nldconfig = "@%s"\n' "$work/ldconfig" >"$work/config.toml"
container NVIDIA_VISIBLE_DEVICES=0
cat >"$work/look" <<'SCRIPT'
set -euo pipefail
bash "$work/hook" & hook=$!
exec 7>"$rootfs/wait"
cat "/proc/$hook/limits"
exec 7>&-
wait "$hook"
SCRIPT
run 0 with_container bash "$work/look"
# soft NAME: the limit that counts.
soft() { sed -n "s/^Max $1  *\([a-z0-9]*\) .*/\1/p" "$work/out"; }
[ "$(soft 'cpu time')" = 10 ] || fail "processor time is not limited"
[ "$(soft 'address space')" = 1073741824 ] || fail "memory is not limited"
