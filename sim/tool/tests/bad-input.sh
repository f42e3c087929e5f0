#!/usr/bin/env bash
# Bad input of every kind gets a precise error and leaves the node as it was.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up mixed --node lab
partita-sim clock freeze >/dev/null
before=$(state lab)
tree() { (cd "$PARTITA_SIM_DIR/lab" && find . ! -path './sim/*' | sort | xargs -d '\n' ls -dln | cksum); }
files=$(tree)

# refused STATUS TEXT COMMAND…: partita-sim COMMAND says TEXT, and nothing has changed.
refused() {
  local status=$1 text=$2
  shift 2
  run "$status" partita-sim "$@"
  complains "$text"
  silent out
  [ "$(state lab)" = "$before" ] || fail "the state changed: partita-sim $*"
  [ "$(tree)" = "$files" ] || fail "files changed: partita-sim $*"
}

refused 2 'unknown key "temprature"' set --gpu 0 temprature=90
complains 'did you mean "temperature"?'
refused 2 'GPU 0: temperature: not a number from 0 to 200: "hot"' set --gpu 0 temperature=hot
refused 2 '"temperature" is not KEY=VALUE' set --gpu 0 temperature
refused 2 'which GPU?' set temperature=80
refused 2 'no GPU 3: node "lab" has 3, numbered from 0' set --gpu 3 temperature=80
refused 2 'no GPU "GPU-0"' set --gpu GPU-0 temperature=80
# The second of two is bad: the first is not set either.
refused 2 'power: not a power: "much"' set --gpu 0 temperature=80 power=much
refused 2 'GPU 0: mig: T4 cannot do MIG' set --gpu all mig=on
refused 2 'rows-pending: T4 does not remap rows' set --gpu 2,0 rows-pending=yes
refused 2 'power-limit: 1 W is outside 60 to 70 W' set --gpu 0 power-limit=1
refused 2 'recovery-action: unknown value "rest"' set --gpu 1 recovery-action=rest
refused 2 'pci-driver: unknown value "vfio-pci"' set --gpu 1 pci-driver=vfio-pci
refused 2 '"power=auto" is not a key' unset --gpu 0 power=auto

refused 2 'not an XID: "x79"' fault xid x79 --gpu 0
refused 2 'which GPU?' fault xid 79
refused 2 'GPU 2 has no GPU instance 1' fault xid 79 --gpu 2 --gi 1
refused 2 '--ci needs --gi' fault xid 79 --gpu 2 --ci 0
refused 2 '--count: not a number from 1 to 128: "0"' fault xid 79 --gpu 2 --count 0
refused 2 'no NVML call is named "nvmlDeviceGetNmae"' fault call nvmlDeviceGetNmae --hang
complains 'did you mean "nvmlDeviceGetName"?'
refused 2 'give one of --fail, --slow, --hang, --activation and --other' fault call nvmlDeviceGetName
refused 2 'only one of --fail, --slow, --hang, --activation and --other' fault call nvmlDeviceGetName --hang --slow 5
refused 2 '--activation is for nvmlDeviceSetMigMode alone' fault call nvmlDeviceGetName --activation IN_USE
refused 2 '--other place is for nvmlDeviceCreateGpuInstanceWithPlacement, nvmlGpuInstanceCreateComputeInstanceWithPlacement alone' \
  fault call nvmlGpuInstanceCreateComputeInstance --other place
refused 2 'nvmlGpuInstanceCreateComputeInstance alone' fault call '*' --other profile
refused 2 'unknown value "LOST"' fault call nvmlDeviceGetName --fail LOST
refused 2 'no NVML error has the number 31' fault call nvmlDeviceGetName --fail 31
refused 2 'no fault 7' fault clear 7
refused 2 'clear what?' fault clear
refused 2 'not a duration: "10"' clock advance 10
refused 2 'not a duration: "-5s"' clock advance -- -5s
refused 2 'no workload "0"' workload stop 0
refused 2 'stop what?' workload stop
refused 1 'the driver is loaded already' driver load
refused 2 'which GPU?' reset
refused 2 'no node "lba" is up' reboot --node lba
refused 2 'run what?' run
refused 2 'unknown profile "dgx"' up dgx
refused 1 'node "lab" is up already' up mixed --node lab
refused 2 'cannot be the name of a node' up mixed --node Lab/1
refused 2 'which machine?' up
refused 2 'a PROFILE and --file were given' up mixed --file x.yaml
refused 2 'x.yaml' up --file x.yaml

cat >"$work/bad.yaml" <<'YAML'
driver: {version: 580.159.04, cuda: "13.0"}
gpus:
  - {product: H20, pci: "0000:01:00.0"}
  - {product: T4, pci: "0000:02:00.0", serail: "1"}
YAML
refused 2 "bad.yaml:3:15: unknown product \"H20\"" up --file "$work/bad.yaml"
complains '    3 |   - {product: H20, pci: "0000:01:00.0"}' '      |               ^^^ did you mean "H200"?' \
  'bad.yaml:4:40: unknown key "serail"' 'did you mean "serial"?'
[ "$(ls -A "$PARTITA_SIM_DIR")" = lab ] || fail "a refused up left something behind"
