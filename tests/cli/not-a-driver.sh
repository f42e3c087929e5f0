#!/usr/bin/env bash
# A library that is none of the driver's is refused in words, not with a crash.
source "$(dirname "$0")/common.sh"

echo "not an ELF file" >"$work/text.so"
run 6 partita status --library "$work/text.so" --host-root "$work"
complains "$work/text.so"
libm=$(ldd "$PARTITA_BIN/partita" | sed -n 's/.*libm\.so.* => \([^ ]*\).*/\1/p')
run 6 partita status --library "$libm" --host-root "$work"
complains "$libm"
