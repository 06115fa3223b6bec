#!/usr/bin/env bash
# install-packages.sh build|test|vm|fuzz|mutants: installs the missing Debian 12 packages that lockstep needs.
# build: to compile and run (FRR, lldpd and Redis for the twin). test: build's, and those of the tests, lints and benchmarks.
# vm: those of the VM lab only. fuzz: build's, and those of tests/fuzz. mutants: those that tests/mutants needs in
# addition to test's.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config clang libbpf-dev
  libyaml-cpp-dev nlohmann-json3-dev libsqlite3-dev libcli11-dev libfmt-dev libssl-dev libboost1.81-dev
  libhowardhinnant-date-dev tzdata prometheus-cpp-dev libcurl4-openssl-dev
  libsystemd-dev libibverbs-dev ibverbs-providers liblldpctl-dev libyang2-dev libhiredis-dev frr lldpd redis-server
  iproute2 procps
)
if [ "${1:-build}" = test ]; then
  packages+=(libgtest-dev librapidcheck-dev libbenchmark-dev iperf3 ethtool git clang-format clang-tidy-16 lld nftables
             iptables iputils-ping dbus-daemon python3 python3-jsonschema python3-yaml cmark-gfm redis-tools
             curl jq libxml2-utils openssh-client openssl man-db dpkg-dev lintian mmdebstrap
             e2fsprogs)
  # It starts a service, which is nothing for a machine that somebody works on: without it the tests over ssh are skipped.
  [ "${CI:-false}" = false ] || packages+=(openssh-server)
elif [ "${1:-build}" = fuzz ]; then
  packages+=(clang-16 libclang-rt-16-dev llvm-16)  # llvm-16: symbolizes stack traces
elif [ "${1:-build}" = mutants ]; then
  packages=(python3-clang-16 libclang-common-16-dev)  # libclang, and the compiler's own headers
elif [ "${1:-build}" = vm ]; then
  packages=(qemu-system-x86 busybox-static cpio kmod xz-utils zstd curl iproute2 pciutils systemd dbus ethtool procps gcc-12 make libelf1
            ibverbs-providers perftest)
fi

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "lockstep needs these packages, and only root can install them: ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  exit 1
fi
