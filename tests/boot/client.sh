# gpu_client NAME: a unit that runs before MIG is brought back, as a client of the GPUs would.
gpu_client() {
  unit "$1.service" <<UNIT
[Unit]
DefaultDependencies=no
Before=partita-mig.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo $1 starts >>$disk/log'
ExecStop=/bin/sh -c 'echo $1 stops >>$disk/log'
UNIT
  mkdir -p "$disk/units/multi-user.target.wants"
  ln -sf "../$1.service" "$disk/units/multi-user.target.wants/"
}
