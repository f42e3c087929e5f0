#!/usr/bin/env bash
# Every byte of an argument reaches the program; a container's configuration is JSON, so what is not UTF-8 is refused
# there by its number.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
make_image "$work/image"
odd=$'gr\xfc\xdf'
bytes() { printf '%s' "$1" | od -An -tx1; }
[ "$(bytes "$odd")" = " 67 72 fc df" ] || fail "the test's own argument"

run 0 on_node partita run --gpu 0 -- printf '%s' "$odd"
[ "$(od -An -tx1 <"$work/out")" = "$(bytes "$odd")" ] || fail "the argument was changed"
run 0 in_image --gpu 0 -- bash -c 'printf %s "$1"' bash $'gr\u00fc\u00df \n\x01"\\'
[ "$(od -An -tx1 <"$work/out")" = "$(bytes $'gr\u00fc\u00df \n\x01"\\')" ] || fail "UTF-8 was changed"
run 2 in_image --gpu 0 -- bash -c 'echo "$1"' bash "$odd"
silent out
complains "--image: argument 4 of the command is not UTF-8" "write it into a script in the image"
run 2 in_image --gpu 0 -- "$odd"
complains "the name of the command is not UTF-8"
all_cleared
