#!/usr/bin/env bash
# build.sh FOLDER: the kernel module test_nic in FOLDER/test_nic.ko, for the kernel there (kernel.sh), built against
# Debian's headers of the same version, which are unpacked and not installed. Made again when the kernel or the source
# changes. Exit code 77, with one line of why: not to be had here.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
skip() { echo "skipped: test_nic: $*"; exit 77; }

exec {lock}>"$folder/lock"
flock "$lock"
cd "$folder"
read -r _ version <made-of
release=$(cat version)
of="$release $version $(cat "$here"/*.[ch] | sha256sum)"
[ "$(cat test_nic.of 2>/dev/null)" != "$of" ] || exit 0

# What linux-headers depends on, less the compiler's metapackage.
if [ "$(cat headers/made-of 2>/dev/null)" != "$release $version" ]; then
  rm -rf headers && mkdir headers
  kbuild=$(apt-cache depends "linux-headers-$release" 2>/dev/null | awk '/Depends: linux-kbuild-/ {print $2}') ||
    skip "apt offers no headers of $release"
  packages=("linux-headers-$release" "linux-headers-${release%-amd64}-common" "$kbuild")
  (cd headers && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]/%/=$version}") ||
    skip "the kernel's headers can't be downloaded"
  for package in headers/*.deb; do dpkg -x "$package" headers; done
  rm headers/*.deb
  echo "$release $version" >headers/made-of
fi

# The one absolute path in Debian's headers: where the common ones are.
sed -i "s#[^ ]*/usr/src/#$folder/headers/usr/src/#" "headers/usr/src/linux-headers-$release/Makefile"
rm -rf module && mkdir module
cp "$here"/*.[ch] module/
printf 'obj-m := test_nic.o\ntest_nic-y := nic.o nic_ethtool.o\n' >module/Makefile
make -s -C "headers/usr/src/linux-headers-$release" "M=$folder/module" modules >module/log 2>&1 ||
  { cat module/log; exit 1; }
strip --strip-debug -o test_nic.ko module/test_nic.ko
rm -rf module
echo "$of" >test_nic.of
