#!/usr/bin/env bash
# The man page is valid roff: groff has nothing to warn about, and the text is all there.
source "$(dirname "$0")/common.sh"

run 0 partita man
cp "$work/out" "$work/partita.1"
run 0 groff -man -Tutf8 -ww "$work/partita.1"
silent err
run 0 env MANWIDTH=100 man --warnings -l "$work/partita.1"
silent err
shows "PARTITA(1)" "partita status" "--driver-root" "EXIT STATUS" "no driver answers on this machine" \
  "NO_COLOR"
