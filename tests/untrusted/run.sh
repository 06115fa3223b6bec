#!/usr/bin/env bash
# run.sh LOCKSTEP: attacks by somebody who may propose specs, or who created files before root did. Runs in its own mount,
# network and UTS namespaces. The oracles are files, exit codes and the kernel.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
own_machine gpu1 "what root must not be led to" "$0" "$@"
# Every command must end within a minute.
bounded() { timeout --kill-after=5 60 "$@"; }
# hides TEXT COMMAND...: the output of COMMAND must not contain TEXT.
hides() {
  local out
  out=$(bounded "${@:2}" 2>&1 </dev/null) || true
  case $out in *"$1"*) fail "${*:2}: shows '$1': $out" ;; esac
}
# unharmed WHAT: checks that the protected file was not written.
printf 'precious\n' >"$work/precious"
unharmed() { [ "$(cat "$work/precious")" = precious ] || { fail "$1: the file was written"; printf 'precious\n' >"$work/precious"; }; }
printf 'name\ngpu1\nhunter2 x\n' >"$work/secret"
device() { printf 'apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: me, labels: {pool: lab}}\nspec: {%s, role: host, drivers: [linux], connect: {local: true}}\n' "$1"; }
profile() { printf -- '---\napiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {name: %s}\nspec: {selector: {matchLabels: {pool: lab}}, %s}\n' "$1" "$2"; }
# specs FOLDER < YAML: creates a new folder of specs.
specs() { rm -rf "${work:?}/$1"; mkdir "$work/$1"; respec "$1"; }
# respec FOLDER < YAML: replaces the specs in the folder; it stays the same cluster.
respec() { cat >"$work/$1/specs.yaml"; }
echo 0 >/proc/sys/net/ipv4/tcp_mtu_probing

# Nothing is written through links beside the specs.
# far: a fabric of other machines that needs numbers, so that an apply to this machine writes allocations.lock.
far() {
  cat <<YAML
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: far}
spec: {names: gpu2, role: host, drivers: [linux], connect: {agent: "https://{name}:7443"}, interfaces: [{name: rail0, speed: 1Gbps}]}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: leaf0, role: leaf, drivers: [linux, frr], connect: {agent: "https://{name}:7443"}}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-only
  cabling: [{from: "gpu2:rail0", to: "leaf0:swp1", by: rail}]
  addressing: {hosts: 10.64.0.0/16}
YAML
}
for name in none allocations.lock.new allocations.lock; do
  export LOCKSTEP_STATE_DIR=$work/state-$name LOCKSTEP_RUN_DIR=$work/run-$name
  { device "names: gpu1"; profile p "sysctl: {net.ipv4.tcp_mtu_probing: 1}"; far; } | specs linked
  ln -s "$work/precious" "$work/linked/$name"
  bounded "$lockstep" apply --only gpu1 --yes --confirm-deletion "$work/linked" >/dev/null 2>&1 </dev/null || true
  unharmed "$name as a link"
  [ $name = allocations.lock ] || [ -f "$work/linked/allocations.lock" ] || fail "$name as a link: no lock is written"
  echo 0 >/proc/sys/net/ipv4/tcp_mtu_probing
done

# Files outside of the folder are not read, and no line of them is shown.
mkdir "$work/out"
for csv in ../secret "$work/secret" /proc/self/environ link.csv; do
  device "from: {csv: $csv}" | specs inventory
  ln -s ../secret "$work/inventory/link.csv"
  expect 1 "specs.yaml:4:" bounded "$lockstep" validate "$work/inventory"
  hides hunter2 env SECRET=hunter2 "$lockstep" validate "$work/inventory"
done
{ device "names: gpu1"; far; } | specs lock
echo 'hunter2: [' >"$work/not-a-lock"
ln -s ../not-a-lock "$work/lock/allocations.lock"
expect 1 "allocations.lock" bounded "$lockstep" validate "$work/lock"
hides hunter2 "$lockstep" validate "$work/lock"
device "names: gpu1, credentials: {secret: hunter2}" | specs credentials
hides hunter2 "$lockstep" validate "$work/credentials"
hides hunter2 "$lockstep" validate -o json "$work/credentials"

# Input without an end, or too large.
device "from: {csv: pipe.csv}" | specs pipe
mkfifo "$work/pipe/pipe.csv"
expect 1 "pipe.csv" bounded "$lockstep" validate "$work/pipe"
ln -s /dev/zero "$work/plan.json"
expect 1 "plan.json" bounded "$lockstep" apply --yes "$work/plan.json"
sysctls=$(for i in $(seq 990); do printf 'net.a.b%s: 1, ' "$i"; done)
{ device "names: 'a[1-200000]'" | sed 's/, connect: {local: true}//'; profile p "sysctl: {$sysctls}"; } | specs large
expect 1 "entries" bounded "$lockstep" validate "$work/large"

# Text that a terminal or a workflow runner would interpret.
{ device "names: gpu1"; profile p 'sysctl: {net.ipv4.tcp_rmem: "4096\e[2K\e[1A"}'; } | specs escape
expect 1 "control character" bounded "$lockstep" validate "$work/escape"
{ device "names: gpu1"; profile p 'sysctl: {net.ipv4.tcp_mtu_probing: 1},
  overrides: [{names: gpu1, set: {"sysctl[net.ipv4.tcp_mtu_probing]": "0"}, reason: "x\n::error::y", until: 2999-01-01}]'; } | specs workflow
expect 1 "a line break or a tab in a text" bounded "$lockstep" validate "$work/workflow"

# A state directory that somebody prepared: its lock is a link to another file.
export LOCKSTEP_STATE_DIR=$work/state1 LOCKSTEP_RUN_DIR=$work/run1
{ device "names: gpu1"; profile p "sysctl: {net.ipv4.tcp_mtu_probing: 1}"; } | specs good
bounded "$lockstep" apply --yes --confirm-deletion "$work/good" >/dev/null
[ "$(cat /proc/sys/net/ipv4/tcp_mtu_probing)" = 1 ] || fail "an honest apply does nothing here"
found=0
for lock in $(find "$LOCKSTEP_STATE_DIR" "$LOCKSTEP_RUN_DIR" -name '*lock*' -type f); do
  found=1
  rm "$lock"
  ln -s "$work/precious" "$lock"
  bounded "$lockstep" apply --yes --confirm-deletion "$work/good" >/dev/null 2>&1 </dev/null || true
  unharmed "$lock as a link"
  rm -f "$lock"
done
[ $found = 1 ] || fail "no lock was found to try it with"
[ -z "$(find "$LOCKSTEP_STATE_DIR" -type d ! -perm 700 ! -path "$LOCKSTEP_STATE_DIR")" ] || fail "state that others may list: $(ls -lR "$LOCKSTEP_STATE_DIR")"
[ -z "$(find "$LOCKSTEP_STATE_DIR" -type f -perm /077)" ] || fail "state that others may read: $(ls -lR "$LOCKSTEP_STATE_DIR")"

# Files that all users must read are readable whatever the umask.
export LOCKSTEP_STATE_DIR=$work/state1b LOCKSTEP_RUN_DIR=$work/run1b
{ device "names: gpu1"; profile p "memlock: unlimited, sysctl: {net.ipv4.tcp_mtu_probing: 1}"; } | specs good
(umask 077 && bounded "$lockstep" apply --yes --confirm-deletion "$work/good" >/dev/null 2>&1 </dev/null) || true
limits=$(find /etc/security/limits.d -newer "$work/good/specs.yaml" -name '*.conf')
[ -n "$limits" ] && [ "$(stat -c %a $limits)" = 644 ] || fail "limits that users can't read: $(ls -l /etc/security/limits.d)"

# Renaming the cluster does not bypass the deletion guard: 19 of 21 objects are gone.
export LOCKSTEP_STATE_DIR=$work/state2 LOCKSTEP_RUN_DIR=$work/run2
# cluster NAME PROFILES VALUE: one device, PROFILES profiles, and one sysctl to set to VALUE.
cluster() {
  device "names: gpu1"
  printf -- '---\napiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {}\n' "$1"
  profile p1 "sysctl: {net.ipv4.tcp_mtu_probing: $3}"
  for i in $(seq 2 "$2"); do profile "p$i" "sysctl: {net.ipv4.conf.p$i.forwarding: 1}"; done
}
cluster one 20 0 | specs renamed
bounded "$lockstep" apply --yes "$work/renamed" >/dev/null 2>&1 </dev/null || true
cluster two 1 2 | respec renamed
expect 1 "lockstep state adopt" bounded "$lockstep" apply --yes "$work/renamed"
cluster one 1 2 | respec renamed
expect 1 "confirm-deletion" bounded "$lockstep" apply --yes "$work/renamed"
[ "$(cat /proc/sys/net/ipv4/tcp_mtu_probing)" = 0 ] || fail "a deletion that nobody confirmed was done"

failed_none
