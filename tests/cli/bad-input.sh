#!/usr/bin/env bash
# Values that make no sense are refused before anything is read, with what would be accepted.
source "$(dirname "$0")/common.sh"

run 2 partita status --width 10
complains '--width "10": not a number from 60 to 500'
run 2 partita status 5
complains 'unexpected argument "5"' '--watch'
run 2 partita status --watch never
complains '"never": not a number of seconds'
run 2 partita status --watch 0
complains '"0": not a number of seconds'
run 2 partita status --count 3
complains '--count needs --watch'
run 2 partita status --watch 1 --count 0
complains '--count "0"'
run 2 partita completion powershell
complains 'bash, zsh or fish'
