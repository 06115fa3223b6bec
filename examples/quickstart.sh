#!/usr/bin/env bash
# The whole life of a cluster in a few minutes, on one Debian 12 machine, as root: a live twin of examples/rail-pod
# (network namespaces, veth, a real FRR in every switch) is brought up, converged, measured, broken by hand, healed,
# and given a change that breaks an SLO and is undone. Installs and builds what is missing first.
# Ctrl-C at any point leaves no namespace, process or file behind (but for the packages and the build folder).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

usage() {
  cat <<END
usage: examples/quickstart.sh        (as root, on Debian 12; takes about ten minutes with the first build; no arguments)

Installs what is missing, builds, and takes a twin of examples/rail-pod through its whole life in a folder of its own
under /tmp. Ctrl-C at any point leaves nothing behind but the packages and the build folder.
LOCKSTEP_BINARY=FILE uses that binary and builds none; NO_COLOR=1 prints without colour.
END
}
case "${1:-}" in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "error: it takes no arguments, and was given '$1'" >&2; usage >&2; exit 1 ;;
esac

bold= dim= red= off=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'
fi
heading() { printf '\n%s== %s%s\n' "$bold" "$1" "$off"; }
tell() { printf '%s%s%s\n' "$dim" "$1" "$off"; }

if [ "$(id -u)" -ne 0 ]; then
  echo "a twin is made of network namespaces: run this as root" >&2
  exit 1
fi

heading "0. Install and build"
"$root/cmake/install-packages.sh" build
if [ -z "${LOCKSTEP_BINARY:-}" ]; then
  tell "building build/release/bin/lockstep (the first time takes about eight minutes on two cores)"
  cmake --preset release >/dev/null
  if [ -t 1 ]; then cmake --build --preset release --target lockstep
  else cmake --build --preset release --target lockstep >/dev/null; fi
  LOCKSTEP_BINARY=$root/build/release/bin/lockstep
fi

work=$(mktemp -d /tmp/lockstep-quickstart.XXXXXX)
export LOCKSTEP_STATE_DIR=$work/state
lockstep() { "$LOCKSTEP_BINARY" "$@"; }
clean_up() {
  trap '' INT TERM
  [ -d "$work/rail-pod" ] && lockstep twin down "$work/rail-pod" >/dev/null 2>&1 || true
  cd / && rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp -r "$root/examples/rail-pod" "$work/rail-pod"
cd "$work"

# expect CODE[|CODE...] COMMAND...: shows the command, runs it, and ends the tour if it answers with another exit code.
# Where traffic is measured, 3 is one: a machine that is busy with something else can't tell.
expect() {
  local want=$1 have=0
  shift
  printf '\n%s$ %s%s\n' "$bold" "$*" "$off"
  "$@" || have=$?
  case "|$want|" in *"|$have|"*) return ;; esac
  [ "$have" -ge 128 ] && exit "$have"
  printf '%sthis should have ended with exit code %s, and ended with %s%s\n' "$red" "$want" "$have" "$off" >&2
  exit 1
}
in_device() { expect 0 lockstep twin exec rail-pod "$@"; }

heading "1. A twin of rail-pod, from the specs alone: 4 hosts x 2 rails, 2 leaves, 2 spines"
expect 0 lockstep topology rail-pod
tell "Links of 400 Gbit/s carry a thousandth here, and slower ones in proportion: two cores carry that with room to spare."
expect 0 lockstep twin up --link-rate 400Mbps rail-pod

heading "2. What is to be done, and doing it"
tell "Everything is bare. The plan says what each device gets, what that disturbs, and which line of the specs wants it."
expect 2 lockstep plan --twin rail-pod
tell "Some of it is held: the policy wants a person's word for what disturbs traffic, and nothing here drains jobs first."
tell "--approve lifts the kinds of holds that it names. Nothing counts as done until it is read back, effect included: BGP and BFD sessions, the kernel's own"
tell "forwarding table with its next-hop groups, and LLDP neighbours as cabled. (Measuring comes next.)"
expect 0 lockstep apply --twin --yes --approve approval:traffic,drain --no-measure rail-pod
expect 0 lockstep drift --twin rail-pod

heading "3. Real traffic through the fabric, judged by the specs' SLOs, and accepted as the baseline"
expect '0|1' lockstep bench --twin --accept rail-pod

heading "4. Break it by hand"
tell "With the tools that everybody has: an MTU, an address (the kernel drops its routes), a BGP neighbour, a sysctl."
in_device gpu1 -- ip link set rail0 mtu 1500
in_device gpu2 -- ip address del 10.64.0.3/31 dev rail0
in_device leaf0 -- vtysh -c 'configure terminal' -c 'router bgp 4200000000' -c 'neighbor up1 shutdown'
in_device leaf1 -- sysctl -q -w net.ipv4.fib_multipath_hash_policy=0
tell "Device, entry, want, have, and the line that wants it:"
expect 2 lockstep drift --twin rail-pod
tell "Converge again; only what the change can have touched is measured again."
expect '0|3' lockstep apply --twin --yes --approve approval:traffic,drain rail-pod

tell "Now a fault that no configuration shows: the kernel loses a next hop while FRR reports it installed (FRR 8.4 does"
tell "this after link flaps; here it is made deterministically)."
expect 0 lockstep twin break rail-pod lost-nexthop leaf0
in_device leaf0 -- vtysh -c 'show ip route 10.64.0.128/25'
in_device leaf0 -- ip route show 10.64.0.128/25
expect 2 lockstep drift --twin rail-pod
tell "Nothing is configured wrongly, and yet it is named. The frr driver has a bounded remedy for it:"
expect '0|3' lockstep apply --twin --yes --approve approval:traffic,drain rail-pod

heading "5. A change that breaks an SLO"
tell "Somebody cuts one uplink of leaf0 to a tenth of its speed, in the specs:"
fabric=rail-pod/fabric.yaml
cp "$fabric" fabric.before
sed -i 's|^    - {from: "leaf\[0-1\]:up\[0-1\]".*|    - {from: "leaf[0-1]:up1", to: "spine1:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf1:up0", to: "spine0:down1", by: pairs, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf0:up0", to: "spine0:down0", by: pairs, speed: 40Gbps, cableLength: 40m}|' "$fabric"
diff -U0 fabric.before "$fabric" | tail -n +3 || true
expect 2 lockstep plan --twin rail-pod
tell "It can be applied, and it verifies. But flows that hash to the slow uplink fall below the SLO: the gate fails, and a"
tell "planned reverse takes the change back."
expect 2 lockstep apply --twin --yes --approve approval:traffic,drain rail-pod
tell "The specs go back as well (a merge request that is not merged), and all is in sync, and the SLO holds:"
cp fabric.before "$fabric"
expect 0 lockstep drift --twin rail-pod
expect '0|3' lockstep bench --twin --only pairs rail-pod

heading "6. Take it down"
expect 0 lockstep twin down rail-pod
heading "What to try next"
cat <<END
  cp -r examples/rail-pod my-pod           edit it; \`lockstep validate my-pod\` tells every mistake with its line
  lockstep twin up my-pod                  (the binary is build/release/bin/lockstep)
  lockstep watch --twin my-pod             live drift; in another terminal: lockstep twin break my-pod --list
  lockstep explain my-pod gpu1 'interface[rail0]/mtu'
  lockstep --help
END
