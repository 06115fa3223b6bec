#!/usr/bin/env bash
# without_root.sh LOCKSTEP: on one's own host, a user without privileges can discover, validate, plan and find drift; what only root
# can read is named, and is not called in sync; apply changes nothing. The oracles are /proc/sys, its file modes, and files.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
own_machine gpu1 "it makes a namespace, to be nobody in it" "$0" "$@"

chmod 755 "$work"
install -m 755 "$lockstep" "$work/lockstep"  # the build folder may be closed to others
mkdir -m 1777 "$work/home"
nobody() { (cd "$work/home" && HOME=$work/home setpriv --reuid 65534 --regid 65534 --clear-groups env -u LOCKSTEP_STATE_DIR -u LOCKSTEP_RUN_DIR "$work/lockstep" "$@"); }

echo 1 >/proc/sys/net/ipv4/tcp_mtu_probing
one_host readable gpu1 "net.ipv4.tcp_mtu_probing: 1"
one_host drifted gpu1 "net.ipv4.tcp_mtu_probing: 0"
one_host secret gpu1 "net.ipv4.tcp_mtu_probing: 1, vm.mmap_rnd_bits: $(cat /proc/sys/vm/mmap_rnd_bits)"
[ "$(stat -c %a /proc/sys/vm/mmap_rnd_bits)" = 600 ] || not_tested "this kernel shows vm.mmap_rnd_bits to everybody"
chmod -R a+rX "$work/readable" "$work/drifted" "$work/secret"

expect 0 "gpu1" nobody discover
expect 0 "valid; all proofs hold" nobody validate "$work/drifted"
expect 0 "1 of 1 devices in sync" nobody drift "$work/readable"
expect 2 "sysctl[net.ipv4.tcp_mtu_probing]" nobody drift "$work/drifted"
expect 2 "sysctl[net.ipv4.tcp_mtu_probing]" nobody plan "$work/drifted"

for command in drift plan; do
  expect 3 "vm.mmap_rnd_bits" nobody "$command" "$work/secret"
  expect 3 "Permission denied" nobody "$command" "$work/secret"
done

expect 1 "" nobody apply --yes "$work/drifted"
[ "$(cat /proc/sys/net/ipv4/tcp_mtu_probing)" = 1 ] || fail "nobody's apply changed the kernel"
left=$(find "$work/home" "$work/drifted" "$work/readable" "$work/secret" -type f ! -name host.yaml ! -path '*/.local/state/*')
[ -z "$left" ] || fail "left behind: $left"
failed_none
