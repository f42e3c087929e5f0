#!/usr/bin/env bash
# man and Tab know both names
source "$(dirname "$0")/../common.sh"
install_package
for name in partita nvidia-mig-parted; do
  run 0 man "$name"
  shows "$name" NAME
done
# offers LETTERS NAME: what Tab offers in a shell that found the completion by the program's name.
offers() {
  run 0 bash --norc -c '
    source /usr/share/bash-completion/bash_completion
    _completion_loader "$2" || true
    COMP_WORDS=("$2" "$1") COMP_CWORD=1
    "$(complete -p "$2" | sed "s/.*-F \([^ ]*\) .*/\1/")"
    printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}
offers mi partita
shows mig
offers ass nvidia-mig-parted
shows assert
