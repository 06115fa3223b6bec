#!/usr/bin/env bash
# run.sh LOCKSTEP: tests what specs can't change on the machine that `lockstep` runs on as root. Runs in its own mount and
# network namespaces, so that /etc/lockstep and net.* are the test's. The oracle is /proc/sys.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
own_machine policy-test "a host policy is root's" "$0" "$@"
value() { cat "/proc/sys/$1"; }

# A parameter of the kind that the default refuses, but harmless: a failure of this test does no damage.
burst=$(value kernel/printk_ratelimit_burst)
mine="kernel.printk_ratelimit_burst: $((burst + 1)), net.ipv4.tcp_mtu_probing: 1"
one_host good policy-test "$mine"
why="kernel parameter 'kernel.printk_ratelimit_burst' is not among spec.sysctls (the default: there is no /etc/lockstep/host.yaml)"
expect 1 "refused: sysctl[kernel.printk_ratelimit_burst]: this host's policy refuses it: $why" "$lockstep" plan "$work/good"
expect 2 "$why" "$lockstep" drift "$work/good"
expect 1 "$why" "$lockstep" apply --yes --confirm-deletion "$work/good"
[ "$(value kernel/printk_ratelimit_burst)" = "$burst" ] || fail "the default let kernel.printk_ratelimit_burst be set"
[ "$(value net/ipv4/tcp_mtu_probing)" = 1 ] || fail "what the default allows was not done"

expect 1 "what is refused, root can allow in /etc/lockstep/host.yaml on that host" "$lockstep" plan "$work/good"
expect 0 "policy  refused: $why" "$lockstep" explain "$work/good" policy-test 'sysctl[kernel.printk_ratelimit_burst]'
expect 0 '"refused": "kernel parameter' "$lockstep" explain -o json "$work/good" policy-test 'sysctl[kernel.printk_ratelimit_burst]'
one_host two policy-test "kernel.printk_ratelimit_burst: $((burst + 1)), kernel.printk_ratelimit: $(($(value kernel/printk_ratelimit) + 1))"
LOCKSTEP_STATE_DIR=$work/third LOCKSTEP_RUN_DIR=$work/third \
  expect 1 "kernel.printk_ratelimit_burst]: this host's policy refuses it" "$lockstep" apply --yes --confirm-deletion "$work/two"
LOCKSTEP_STATE_DIR=$work/third LOCKSTEP_RUN_DIR=$work/third \
  expect 1 "kernel.printk_ratelimit]: this host's policy refuses it" "$lockstep" apply --yes --confirm-deletion "$work/two"

# A plan reports that an apply would be refused: a copy without its lock is another cluster.
cp -r "$work/good" "$work/moved"
rm "$work/moved/allocations.lock"
expect 1 "lockstep state adopt $work/moved" "$lockstep" plan "$work/moved"
expect 1 "lockstep state adopt $work/moved" "$lockstep" apply --yes "$work/moved"
printf 'apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\nspec: {}\n' >"$work/policy.yaml"
expect 1 "it belongs to the host" "$lockstep" validate "$work/policy.yaml"

# The host policy applies to a plan file as it does to specs.
"$lockstep" plan --out "$work/plan.json" "$work/good" >/dev/null || true
expect 1 "$why" "$lockstep" apply --yes "$work/plan.json"
[ "$(value kernel/printk_ratelimit_burst)" = "$burst" ] || fail "a plan file set what the policy refuses"

# Specs that give the machine another name change nothing on it.
one_host other this-machine "net.ipv4.tcp_mtu_probing: 2"
LOCKSTEP_STATE_DIR=$work/elsewhere LOCKSTEP_RUN_DIR=$work/elsewhere expect 1 "the specs call this machine 'this-machine', and it is 'policy-test' by its host name" \
  "$lockstep" apply --yes "$work/other"
[ "$(value net/ipv4/tcp_mtu_probing)" = 1 ] || fail "specs of another name changed this machine"

# A rule in the policy file allows it, and a second init does not overwrite the file.
expect 0 "wrote /etc/lockstep/host.yaml" "$lockstep" host-policy init
[ "$(stat -c '%a %u' /etc/lockstep /etc/lockstep/host.yaml | tr '\n' ' ')" = "755 0 644 0 " ] || fail "modes of init"
expect 1 "is there already" "$lockstep" host-policy init
expect 0 "nothing is wrong with it" "$lockstep" host-policy check
expect 2 "refused: kernel parameter 'kernel.core_pattern'" "$lockstep" host-policy explain 'sysctl[kernel.core_pattern]'
echo '  sysctls: {allow: [kernel.printk_ratelimit_burst], refuse: [net.ipv4.tcp_mtu_probing]}' >>/etc/lockstep/host.yaml
expect 0 "allow kernel.printk_ratelimit_burst" "$lockstep" host-policy explain
line=$(wc -l </etc/lockstep/host.yaml)

# A policy that other users can write is invalid: nothing is allowed, not even what the default allows.
chmod 666 /etc/lockstep/host.yaml
expect 1 "can be written by its group or by others" "$lockstep" apply --yes "$work/good"
expect 1 "can be written by its group or by others" "$lockstep" host-policy check
expect 1 "can be written by its group or by others" "$lockstep" host-policy explain
[ "$(value kernel/printk_ratelimit_burst)" = "$burst" ] || fail "a policy that anybody can write was followed"

chmod 644 /etc/lockstep/host.yaml
one_host good policy-test "kernel.printk_ratelimit_burst: $((burst + 1)), net.ipv4.tcp_mtu_probing: 2"
expect 1 "kernel parameter 'net.ipv4.tcp_mtu_probing' is refused, at /etc/lockstep/host.yaml:$line:" \
  "$lockstep" apply --yes "$work/good"
[ "$(value kernel/printk_ratelimit_burst)" = $((burst + 1)) ] || fail "what the policy allows was not done"
[ "$(value net/ipv4/tcp_mtu_probing)" = 1 ] || fail "what the policy refuses was done"
one_host good policy-test "kernel.printk_ratelimit_burst: $burst"
expect 0 "" "$lockstep" apply --yes "$work/good"

one_host good policy-test "kernel.printk_ratelimit_burst: $((burst + 1))"
sed -i 's/^  sysctls:/  sysctl:/' /etc/lockstep/host.yaml
expect 1 "/etc/lockstep/host.yaml:$line:3" "$lockstep" host-policy check
expect 1 "unknown field 'sysctl'" "$lockstep" apply --yes "$work/good"

echo "$burst" >/proc/sys/kernel/printk_ratelimit_burst
failed_none
