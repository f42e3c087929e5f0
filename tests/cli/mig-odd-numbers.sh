#!/usr/bin/env bash
# Numbers of a driver that mean nothing, such as an instance of no slices, are told and used for nothing:
# no command dies of them, and nothing is changed by them.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

# What asks for the instances, what would change them, and what needs neither.
reading=("mig export" "mig checkpoint -f $work/state.json")
changing=("mig plan --gpu 4 --want 7g.40gb" "mig plan --gpu 4 --want none" "mig apply --gpu 4 --want 2g.10gb:3 --yes")
other=(status "mig show" "mig profiles" "mig layouts")

# odd COMMAND…: with a driver as $odd says. each STATUS COMMAND…: every one of them ends so.
odd() { on_node env PARTITA_ODD="$odd" partita "$@" --library "$PARTITA_ODD_DRIVER"; }
each() {
  local status=$1 command
  shift
  for command in "$@"; do
    # shellcheck disable=SC2086
    run "$status" odd $command
  done
}

# unreadable GPU TEXT COMMAND…: they fail, and say no more than this.
unreadable() {
  local gpu=$1 text=$2 command
  printf '%s\n' "partita: GPU $gpu: what MIG has made of it cannot be read: $text" \
    "  the driver is damaged, or not what it says it is: see the kernel log" >"$work/wanted"
  shift 2
  for command in "$@"; do
    each 1 "$command"
    cmp "$work/wanted" "$work/err" || fail "$odd: another message: partita $command"
    silent out
  done
}

# impossible LAYOUT WHY: it is refused before anything is done.
impossible() {
  run 2 odd mig plan --gpu 4 --want "$1"
  shows "✗ $2" "plan: impossible"
  run 2 odd mig apply --gpu 4 --want "$1" --yes
  shows "✗ $2" "plan: impossible"
}

up dgx-a100-40
run 0 on_node partita mig apply --gpu 4 --want 3g.20gb,1c.3g.20gb:3 --yes
run 0 on_node partita mig export
cp "$work/out" "$work/before"
for odd in instance-size instance-start place-size place-end profile-slices profile-count compute-slices; do
  each 0 "${other[@]}"
  run 0 odd status --width 200
  cp "$work/out" "$work/status"
  told=
  case $odd in
    instance-size)
      told="nvmlGpuInstanceGetInfo places GPU instance 2 at slice 0 with 0 slices"
      unreadable 4 "$told" "${reading[@]}" "${changing[@]}"
      ;;
    instance-start)
      told="nvmlGpuInstanceGetInfo places GPU instance 2 at slice 4000000000 with 4 slices"
      unreadable 4 "$told" "${reading[@]}" "${changing[@]}"
      ;;
    place-size | place-end)
      slices=0
      [ $odd = place-size ] || slices=4294967295
      told="nvmlDeviceGetGpuInstancePossiblePlacements_v2 places profile 19 at slice 0 with $slices slices"
      each 0 "${reading[@]}" "mig plan --gpu 4 --want none"
      impossible 7g.40gb "7g.40gb cannot be placed side by side: 7g.40gb starts at no slice"
      ;;
    profile-slices)
      told="nvmlDeviceGetGpuInstanceProfileInfoV: profile 15 has 0 slices"
      unreadable 0 "$told" "${reading[@]}"
      unreadable 4 "$told" "${changing[@]}"
      ;;
    profile-count) # how many there may be is not wrong by itself
      each 0 "${reading[@]}" "mig plan --gpu 4 --want none"
      impossible 7g.40gb "1 of 7g.40gb are wanted, and a GPU holds at most 0"
      ;;
    compute-slices)
      told="nvmlGpuInstanceGetComputeInstanceProfileInfo: compute instance profile 2 has 0 slices"
      unreadable 4 "$told" "${reading[@]}" "${changing[@]}"
      ;;
  esac
  cp "$work/status" "$work/out"
  [ -z "$told" ] || shows "$told"
  run 0 on_node partita mig export
  cmp "$work/before" "$work/out" || fail "$odd: something was changed"
done
