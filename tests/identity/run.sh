#!/usr/bin/env bash
# run.sh LOCKSTEP: two clones of one repository of specs on one machine are one cluster. Runs in its own mount, network and
# UTS namespaces. The oracles are /proc/sys, git and files.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
own_machine gpu1 "it changes a kernel" "$0" "$@"
command -v git >/dev/null || not_tested_but_on_ci "needs git"
command -v script >/dev/null || not_tested "needs script(1)"

probing() { cat /proc/sys/net/ipv4/tcp_mtu_probing; }
# is VALUE WHAT
is() { [ "$(probing)" = "$1" ] || fail "$2: tcp_mtu_probing is $(probing), not $1"; }
apply() { "$lockstep" apply --yes --confirm-deletion "$@"; }
in_git() { git -C "$1" -c user.name=ann -c user.email=ann@example.com -c init.defaultBranch=main "${@:2}" >"$work/git" 2>&1 || fail "git ${*:2}: $(cat "$work/git")"; }
uuid() { sed -n 's/.*"uuid": "\(.*\)".*/\1/p' "$1/allocations.lock"; }
changes() { "$lockstep" state show -o json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["changes"]["total"])'; }
profile() { printf 'apiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {name: training}\nspec: {selector: {matchLabels: {pool: lab}}, onDelete: restore, sysctl: {net.ipv4.tcp_mtu_probing: %s}}\n' "$1"; }

mkdir "$work/a"
cat >"$work/a/cluster.yaml" <<'YAML'
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: me, labels: {pool: lab}}
spec: {names: gpu1, role: host, drivers: [linux], connect: {local: true}}
YAML
profile 1 >"$work/a/training.yaml"
cp -r "$work/a" "$work/example"
in_git "$work/a" init
in_git "$work/a" add .
in_git "$work/a" commit -m specs
echo 2 >/proc/sys/net/ipv4/tcp_mtu_probing

# The value found before an apply in one clone is restored when another clone deletes the object.
expect 2 "" "$lockstep" plan "$work/a"
[ ! -e "$work/a/allocations.lock" ] || fail "a plan wrote beside the specs"
expect 0 "" apply "$work/a"
is 1 "an apply in the first clone"
in_git "$work/a" add .
in_git "$work/a" commit -m "the first apply's lock"
in_git "$work" clone "$work/a" "$work/b"
expect 0 "nothing to do" apply "$work/b"
[ "$(uuid "$work/b")" = "$(uuid "$work/a")" ] || fail "another UUID"
in_git "$work/a" rm training.yaml
in_git "$work/a" commit -m "no profile"
in_git "$work/b" pull
expect 0 "" apply "$work/b"
is 2 "the object was removed in the second clone"
[ "$(changes "$work/a")" = 2 ] || fail "the first clone sees $(changes "$work/a") changes"
[ -z "$(git -C "$work/b" status --porcelain)" ] || fail "an apply that gave no number changed the clone: $(git -C "$work/b" status --porcelain)"

profile 1 >"$work/a/training.yaml"
expect 0 "" apply "$work/a"
is 1 "again in the first clone"

# While one clone waits at its prompt, an apply in the other is refused.
profile 0 >"$work/a/training.yaml"
mkfifo "$work/answer"
script -qefc "$lockstep apply $work/a" "$work/terminal" <"$work/answer" >/dev/null 2>&1 &
prompt=$!
exec 9>"$work/answer"
deadline=$((SECONDS + 60))
until grep -q "apply this plan?" "$work/terminal" 2>/dev/null; do
  [ $SECONDS -lt $deadline ] && kill -0 $prompt || { fail "no prompt: $(cat "$work/terminal")"; break; }
  read -rt 0.05 <> <(:) || true
done
expect 1 "this cluster is being changed by process" apply "$work/b"
echo n >&9
exec 9>&-
wait $prompt || true
is 1 "declined"
expect 0 "" apply "$work/b"
is 2 "no object in the second clone"

# Another LOCKSTEP_STATE_DIR lacks the cluster's journal: the machine's record refuses it.
LOCKSTEP_STATE_DIR=$work/second expect 1 "set LOCKSTEP_STATE_DIR as it was" apply "$work/a"
LOCKSTEP_STATE_DIR=$work/second expect 1 "set LOCKSTEP_STATE_DIR as it was" "$lockstep" plan "$work/a"
is 2 "refused"

# A copy of an example that was never applied is another cluster, even if it has the same name.
expect 1 "lockstep state adopt $work/example" apply "$work/example"
[ ! -e "$work/example/allocations.lock" ] || fail "an apply that was refused wrote beside the specs"
is 2 "refused"

# After adoption the new cluster knows the values found before, and the former cluster is refused.
expect 0 "has what cluster 'lab'" "$lockstep" state adopt "$work/example"
[ "$(uuid "$work/example")" != "$(uuid "$work/a")" ] || fail "a copy has the same UUID"
expect 0 "" apply "$work/example"
is 1 "after the take-over"
expect 1 "lockstep state adopt $work/a" apply "$work/a"

# Mistakes that people make in the lock.
sed -i 's/"uuid": ".*"/"uuid": "5a"/' "$work/b/allocations.lock"
expect 1 "$work/b/allocations.lock:4:13: '5a' is no UUID" "$lockstep" plan "$work/b"
sed -i '2s/^/<<<<<<< HEAD\n/' "$work/b/allocations.lock"
expect 1 "$work/b/allocations.lock:2:1: a merge that is not finished" apply "$work/b"
expect 0 "UUID        $(uuid "$work/example")" "$lockstep" state show "$work/example"
failed_none
