#!/usr/bin/env bash
# Process 1 of a namespace: makes /run and the units of this boot, then becomes systemd. Only the
# targets of Debian's systemd, our units and those of the test exist. Arguments: DISK, what survives
# a reboot: units/ (of the test), etc/ (/etc/nvidia-mig-manager), overrides/ (drop-ins), state/.
set -euo pipefail
disk=$1
units=/run/units
mkdir "$programs"
mount --bind "$PARTITA_BIN" "$programs"
mkdir -p $units/multi-user.target.wants $units/nvidia-gpu-reset.target.wants $units/partita-mig.service.d
for name in {basic,final,local-fs,multi-user,reboot,shutdown,sysinit,umount}.target systemd-reboot.service; do
  cp "/lib/systemd/system/$name" $units/
done
cp "$source_root"/packaging/systemd/* $units/
# What `systemctl enable` makes of the [Install] section.
ln -s ../partita-mig.service $units/multi-user.target.wants/
ln -s ../partita-mig.service $units/nvidia-gpu-reset.target.wants/
ln -s partita-mig.service $units/nvidia-mig-manager.service
cat >$units/partita-mig.service.d/simulated.conf <<UNIT
[Service]
ExecStart=
ExecStart=$programs/partita mig boot --config-dir $disk/etc
Environment=PARTITA_DRIVER_ROOT=/run/partita-sim PARTITA_STATE_DIR=$disk/state
StandardOutput=append:$disk/log
StandardError=append:$disk/log
UNIT
# Writes how the units are at that moment, then the line.
states() {
  for unit in partita-mig kubelet client; do
    echo "ExecStart=-/bin/sh -c 'echo $unit is \$\$(systemctl is-active $unit.service) >>$disk/log'"
  done
  echo "ExecStart=/bin/sh -c 'echo $1 >>$disk/log'"
}
cat >$units/end.service <<UNIT
[Unit]
DefaultDependencies=no
After=multi-user.target partita-mig.service nvidia-gpu-reset.target kubelet.service client.service other.service
Conflicts=shutdown.target
SuccessAction=exit-force
[Service]
Type=oneshot
$(states end)
UNIT
cat >$units/boot.target <<UNIT
[Unit]
Wants=multi-user.target end.service
UNIT
# A machine that is asked to reboot does so through Debian's units, to the last step: the test is what
# starts it again.
mkdir $units/systemd-reboot.service.d $units/reboot.target.wants
printf '[Unit]\nSuccessAction=exit-force\n' >$units/systemd-reboot.service.d/last.conf
cat >$units/reboots.service <<UNIT
[Unit]
DefaultDependencies=no
After=shutdown.target
Before=umount.target systemd-reboot.service
[Service]
Type=oneshot
$(states "reboot.target is reached")
UNIT
ln -s ../reboots.service $units/reboot.target.wants/
if [ -d "$disk/units" ]; then cp -a "$disk/units/." $units/; fi
umount -R /sys/fs/cgroup 2>/dev/null || true
if [ "$cgroup_version" = 2 ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs tmpfs /sys/fs/cgroup
  mkdir /sys/fs/cgroup/{systemd,devices}
  mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
  mount -t cgroup -o devices cgroup /sys/fs/cgroup/devices
fi
# What systemd says is shown when a test fails: its kernel log is a file.
: >"$disk/console"
touch /dev/kmsg
mount --bind "$disk/console" /dev/kmsg
exec env -i container=partita-test SYSTEMD_UNIT_PATH=$units PATH="$PATH" /lib/systemd/systemd \
  --unit=boot.target --log-target=kmsg --log-level=info --show-status=0
