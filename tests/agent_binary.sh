#!/usr/bin/env bash
# agent_binary.sh LOCKSTEP_AGENT: a Release build of lockstep-agent starts on Ubuntu 22.04: it loads no library and no version
# of a symbol that is not there, so that it runs on machines with other libraries than the one that it was built on.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
agent=$1
command -v readelf >/dev/null || not_tested_but_on_ci "readelf(1) reads the binary"

# Libraries, with the packages that have them in Ubuntu 22.04 (packages.ubuntu.com/jammy).
declare -A package=(
  [libc.so.6]=libc6 [libm.so.6]=libc6 [ld-linux-x86-64.so.2]=libc6 [ld-linux-aarch64.so.1]=libc6
  [libsystemd.so.0]=libsystemd0
)
# The newest version of their symbols: of glibc 2.35 and systemd 249.
declare -A newest=([GLIBC]=2.35 [LIBSYSTEMD]=249)

needed=$(readelf -dW "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || fail "readelf shows no library of $agent"
for library in $needed; do
  [ -n "${package[$library]:-}" ] ||
    fail "$library: Ubuntu 22.04 may lack it; link it statically (lockstep_external in cmake/Lockstep.cmake) or load it at run time"
done

# symbols_of VERSION: some of those that need it.
symbols_of() { readelf --dyn-syms -W "$agent" | sed -n "s/.* UND \([^ ]*\)@$1 .*/\1/p" | sed -n '1,5p' | tr '\n' ' '; }
versions=$(readelf -VW "$agent" | sed -n '/Version needs/,$s/.*Name: \([^ ]*\) .*/\1/p' | sort -u)
case $versions in *GLIBC_2.*) ;; *) fail "readelf shows no version of glibc: $versions" ;; esac
for version in $versions; do
  limit=${newest[${version%%_*}]:-}
  [ -n "$limit" ] || { fail "$version: no library of Ubuntu 22.04 that is listed here has such symbols: $(symbols_of "$version")"; continue; }
  [ "$(printf '%s\n' "${version#*_}" "$limit" | sort -V | tail -n 1)" = "$limit" ] ||
    fail "$version is newer than Ubuntu 22.04's $limit: $(symbols_of "$version")(reconciler/agent_libc.cpp has what glibc lacks there)"
done
expect 0 "." "$agent" --version
failed_none
