#!/usr/bin/env bash
# The whole life of a cluster in a few minutes, on one Debian 12 machine, as root: a live twin of examples/rail-pod (network
# namespaces, veth, a real FRR in every switch) is brought up, configured, measured, broken and repaired; then a change that breaks
# an SLO is rolled back. In a checkout it first installs and builds what is missing; from the Debian package's examples it uses
# the installed lockstep. Ctrl-C at any point leaves no namespace, process or file behind, except the packages and the build
# folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

usage() {
  cat <<END
usage: examples/quickstart.sh [--installed] [--agents]        (as root, on Debian 12; takes about fifteen minutes with the first build)

Installs what is missing, builds, and takes a twin of examples/rail-pod through its whole life, in a new folder
under /tmp. Ctrl-C at any point leaves nothing behind except the packages and the build folder.
--installed uses the lockstep on PATH, and installs and builds nothing (the default outside of a checkout).
--agents runs a lockstep-agent in each device, and reaches all devices through them.
LOCKSTEP_BINARY=FILE uses that binary and builds nothing; NO_COLOR=1 prints without colors.
END
}
installed=false
[ -f "$root/CMakeLists.txt" ] || installed=true
agents=()
for word; do
  case "$word" in
    --installed) installed=true ;;
    --agents) agents=(--agents) ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown argument '$word'" >&2; usage >&2; exit 1 ;;
  esac
done

bold= dim= red= off=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'
fi
heading() { printf '\n%s== %s%s\n' "$bold" "$1" "$off"; }
tell() { printf '%s%s%s\n' "$dim" "$1" "$off"; }

if [ "$(id -u)" -ne 0 ]; then
  echo "error: a twin needs network namespaces: run this as root" >&2
  exit 1
fi

heading "0. Install and build"
if $installed; then
  LOCKSTEP_BINARY=${LOCKSTEP_BINARY:-$(command -v lockstep)} ||
    { echo "error: lockstep is not on PATH" >&2; exit 1; }
  tell "using $LOCKSTEP_BINARY"
  [ -x /usr/lib/frr/bgpd ] && [ -x /usr/sbin/lldpd ] && command -v ip >/dev/null ||
    { echo "error: a twin needs FRR, lldpd and ip(8); run \"apt-get install frr lldpd iproute2\"" >&2; exit 1; }
else
  "$root/cmake/install-packages.sh" build
fi
if [ -z "${LOCKSTEP_BINARY:-}" ]; then
  tell "building build/release/bin/lockstep (the first time takes about eight minutes on two cores)"
  cmake --preset release >/dev/null
  targets=(share ${agents[@]:+lockstep-agent})
  if [ -t 1 ]; then cmake --build --preset release --target "${targets[@]}"
  else cmake --build --preset release --target "${targets[@]}" >/dev/null; fi
  LOCKSTEP_BINARY=$root/build/release/bin/lockstep
fi

# vtysh looks for its daemons there. systemd creates it at boot; a container may have no systemd.
made_run_frr=false
[ -d /run/frr ] || { mkdir /run/frr && made_run_frr=true; }
work=$(mktemp -d /tmp/lockstep-quickstart.XXXXXX)
export LOCKSTEP_STATE_DIR=$work/state
lockstep() { "$LOCKSTEP_BINARY" "$@"; }
clean_up() {
  trap '' INT TERM
  [ -d "$work/rail-pod" ] && lockstep twin down "$work/rail-pod" >/dev/null 2>&1 || true
  cd / && rm -rf "$work"
  if $made_run_frr; then rmdir /run/frr 2>/dev/null || true; fi  # unless it is in use by now
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp -r "$root/examples/rail-pod" "$work/rail-pod"
cd "$work"

# expect CODE[|CODE...] COMMAND...: shows the command, runs it, and ends the tour if it ends with another exit code.
# Where traffic is measured, 3 is accepted: on a busy machine the verdict may be unknown.
expect() {
  local want=$1 have=0
  shift
  printf '\n%s$ %s%s\n' "$bold" "$*" "$off"
  "$@" || have=$?
  case "|$want|" in *"|$have|"*) return ;; esac
  [ "$have" -ge 128 ] && exit "$have"
  printf '%sexpected exit code %s, got %s%s\n' "$red" "$want" "$have" "$off" >&2
  exit 1
}
in_device() { expect 0 lockstep twin exec rail-pod "$@"; }

heading "1. A twin of rail-pod, from the specs alone: 4 hosts x 2 rails, 2 leaf switches, 2 spine switches"
expect 0 lockstep topology rail-pod
tell "Links of 400 Gbit/s run at 200 Mbit/s here, slower ones in proportion: two cores are enough for that."
expect 0 lockstep twin up "${agents[@]}" --link-rate 200Mbps rail-pod

heading "2. Plan and apply"
tell "Nothing is configured yet. The plan shows what each device gets, what that disturbs, and the spec line that each value comes from."
expect 2 lockstep plan --twin rail-pod
tell "There is no traffic yet, so that no step needs approval. Nothing counts as done until it is observed again, effect included: BGP and BFD"
tell "sessions, the kernel's forwarding table with its next-hop groups, and LLDP neighbors as cabled. (Measuring comes next.)"
expect 0 lockstep apply --twin --yes --no-measure rail-pod
expect 0 lockstep drift --twin rail-pod

heading "3. Real traffic through the fabric, judged by the SLOs of the specs, and accepted as the baseline"
expect '0|1' lockstep bench --twin --accept rail-pod

heading "4. Break it manually"
tell "With everyday tools: an MTU, an address (the kernel drops its routes), a BGP neighbor, a sysctl."
in_device gpu1 -- ip link set rail0 mtu 1500
in_device gpu2 -- ip address del 10.64.0.3/31 dev rail0
in_device leaf0 -- vtysh -c 'configure terminal' -c 'router bgp 4200000000' -c 'neighbor up1 shutdown'
in_device leaf1 -- sysctl -q -w net.ipv4.fib_multipath_hash_policy=0
tell "Drift shows device, entry, desired and actual value, and the spec line:"
expect 2 lockstep drift --twin rail-pod
tell "Apply again; only what the change can affect is measured again."
expect '0|3' lockstep apply --twin --yes --approve approval:traffic,drain rail-pod

tell "Now a fault that no configuration shows: the kernel loses a next hop while FRR reports it as installed (FRR 8.4 does"
tell "this after link flaps; here it is made on purpose)."
expect 0 lockstep twin break rail-pod lost-nexthop leaf0
in_device leaf0 -- vtysh -c 'show ip route 10.64.0.128/25'
in_device leaf0 -- ip route show 10.64.0.128/25
expect 2 lockstep drift --twin rail-pod
tell "No setting is wrong, and drift still shows the missing effect. The frr driver has a remedy for it:"
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
tell "It can be applied and verified. But flows that hash to the slow uplink fall below the SLO: the gate fails, and a plan in"
tell "reverse order rolls the change back."
expect 2 lockstep apply --twin --yes --approve approval:traffic,drain rail-pod
tell "The specs are reverted too (a merge request that is not merged). Everything is in sync again, and the SLO holds:"
cp fabric.before "$fabric"
expect 0 lockstep drift --twin rail-pod
expect '0|3' lockstep bench --twin --only pairs rail-pod

heading "6. Take it down"
expect 0 lockstep twin down rail-pod
heading "What to try next"
cat <<END
  cp -r examples/rail-pod my-pod           edit it; \`lockstep validate my-pod\` shows every mistake with its line
  lockstep twin up my-pod                  (the binary is $LOCKSTEP_BINARY)
  lockstep watch --twin my-pod             live drift; in another terminal: lockstep twin break my-pod --list
  lockstep explain my-pod gpu1 'interface[rail0]/mtu'
  lockstep --help
END
