#!/usr/bin/env bash
# FRR's saved configuration is an entry of its own: what an apply wrote survives a restart of the daemon, or the apply fails
# and drift shows the difference. The oracle is the configuration of bgpd after it was restarted from the saved file.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
"$lockstep" twin up "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
expect 0 "$lockstep" drift --details --twin "$pod"

dir=$(own_twin)/leaf0
conf=$dir/frr.conf
[ "$(stat -c '%U:%G %a' "$conf")" = 'frr:frr 640' ] || { echo "$(stat -c '%U:%G %a' "$conf") is not FRR's" >&2; exit 1; }
want_paths() { sed -i "s/maxPaths: [0-9]*/maxPaths: $1/" "$pod"/*.yaml; }
runs() { vtysh --vty_socket "$dir" --config_dir "$dir" -d bgpd -c 'show running-config' | grep -q "maximum-paths $1\$"; }
saved() { grep -q "maximum-paths $1\$" "$conf"; }
tells_no_password() { ! grep -q geheim "$work/out" || { echo "a password was told" >&2; exit 1; }; }
drifts() {
  expect 2 "$lockstep" drift --details --twin "$pod"
  told 'leaf0.*routing-config/saved'
  tells_no_password
}
restarts_with() {
  "$lockstep" twin break "$pod" killed-daemon leaf0 bgpd
  expect '0 2' "$lockstep" apply --twin --yes $approve --no-measure "$pod"
  ! grep -q 'max-paths' "$work/out" || { echo "the old value came back with the restart" >&2; exit 1; }
  runs "$1"
}
fake=
trap 'umount "$dir" 2>/dev/null || true; [ -z "$fake" ] || kill "$fake" || true; clean_up' EXIT

echo "--- the file can't be replaced"
mount --bind "$dir" "$dir" && mount -o remount,ro,bind "$dir"
want_paths 32
expect 1 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
told 'frr.conf'; told 'Read-only file system'
! grep -qw kept "$work/out" || { echo "it says kept" >&2; exit 1; }
runs 32
drifts
expect 1 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
umount "$dir"
drifts
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
expect 0 "$lockstep" drift --details --twin "$pod"
restarts_with 32

echo "--- kill -9 between write and save: a fake daemon that never answers holds up the save, which asks them all"
python3 -c 'import socket, sys, time
fake = socket.socket(socket.AF_UNIX); fake.bind(sys.argv[1]); fake.listen(); time.sleep(600)' "$dir/fakenodaemon.vty" &
fake=$!
until [ -S "$dir/fakenodaemon.vty" ]; do kill -0 "$fake"; read -rt 0.02 <> <(:) || true; done
want_paths 16
"$lockstep" apply --twin --yes $approve --no-measure "$pod" >"$work/killed" 2>&1 &
apply=$!
until runs 16 || ! kill -0 "$apply" 2>/dev/null; do read -rt 0.02 <> <(:) || true; done
kill -9 "$apply" || true
wait "$apply" 2>/dev/null || true
kill "$fake"
fake=
rm "$dir/fakenodaemon.vty"
runs 16 && ! saved 16 || { cat "$work/killed"; echo "the kill did not meet the time between write and save" >&2; exit 1; }
drifts
told 'bgp/max-paths is 32 in the file, 16 running'
expect 2 "$lockstep" plan --details --twin "$pod"
told 'routing-config/saved'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
saved 16
expect 0 "$lockstep" drift --details --twin "$pod"
restarts_with 16

echo "--- a hand in the file, and one at the daemon"
sed -i 's/maximum-paths 16/maximum-paths 2/; $a password geheim' "$conf"
drifts
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
saved 16
"$lockstep" twin break "$pod" ecmp-off leaf0
drifts
told 'bgp/max-paths'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
expect 0 "$lockstep" drift --details --twin "$pod"
printf '! a remark\nlog syslog errors\npassword geheim\n' >>"$conf"
expect 0 "$lockstep" drift --details --twin "$pod"
tells_no_password
expect 0 "$lockstep" explain --twin "$pod" leaf0 routing-config/saved
told 'write memory'
[ "$(stat -c '%U:%G %a' "$conf")" = 'frr:frr 640' ] || { echo "$(stat -c '%U:%G %a' "$conf") is not FRR's" >&2; exit 1; }
echo "nothing that was written is lost with a restart"
