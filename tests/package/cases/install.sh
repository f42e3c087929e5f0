#!/usr/bin/env bash
# apt installs it on a minimal Debian, with every file in place and whole
source "$(dirname "$0")/../common.sh"
install_package
run 0 dpkg-query -W -f '${db:Status-Abbrev} ${Version}' partita
is "ii  $version"
run 0 dpkg --verify partita
is ""
run 0 partita version
shows "$version"
run 0 readlink /usr/bin/nvidia-mig-parted
is partita
there /etc/nvidia-mig-manager /lib/systemd/system/{partita-agent.service,partita-mig.service,nvidia-gpu-reset.target} \
  /usr/share/bash-completion/completions/{partita,nvidia-mig-parted} /usr/share/doc/partita/{copyright,changelog.gz} \
  /usr/share/fish/vendor_completions.d/{partita,nvidia-mig-parted}.fish /usr/share/man/man1/{partita,nvidia-mig-parted}.1.gz \
  /usr/share/partita/schemas/{agent-config,cdi,config,status,mig,mig-config,mig-checkpoint}-v1.schema.json \
  /usr/share/zsh/vendor-completions/{_partita,_nvidia-mig-parted}
gone /var/lib/partita /run/partita
