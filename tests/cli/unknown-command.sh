#!/usr/bin/env bash
# A word that is no command gets exit status 2 and the one that was probably meant.
source "$(dirname "$0")/common.sh"

run 2 partita stauts
silent out
complains 'partita: unknown command "stauts"' 'did you mean "status"?'
run 2 partita status --outptu json
complains '--outptu' 'did you mean "--output"?'
run 2 partita status --output jsno
complains 'text, json or yaml' 'did you mean "json"?'
