#!/usr/bin/env bash
# build.sh FOLDER MODULE: a kernel module in FOLDER/MODULE.ko, for the kernel there (kernel.sh), built against Debian's
# headers of the same version, which are unpacked and not installed: `test_nic`, our own beside this script, or
# `netdevsim`, of the same kernel's source, as Debian's kernel has none. Made again when the kernel or the source
# changes. Exit code 77, with one line of why: not to be had here.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
module=$2
. "$here/../../needs.sh"
without_module() { not_tested "anything with $module: $*"; }
download() { (cd "$1" && shift && apt-get -qq -o APT::Sandbox::User=root download "$@"); }

exec {lock}>"$folder/lock"
flock "$lock"
cd "$folder"
read -r _ version <made-of
release=$(cat version)
source=
[ "$module" != test_nic ] || source=$(cat "$here"/*.[ch] | sha256sum)
of="$release $version $source"
[ "$(cat "$module.of" 2>/dev/null)" != "$of" ] || exit 0

# What linux-headers depends on, less the compiler's metapackage.
if [ "$(cat headers/made-of 2>/dev/null)" != "$release $version" ]; then
  rm -rf headers && mkdir headers
  kbuild=$(apt-cache depends "linux-headers-$release" 2>/dev/null | awk '/Depends: linux-kbuild-/ {print $2}') ||
    without_module "apt offers no headers of $release"
  packages=("linux-headers-$release" "linux-headers-${release%-amd64}-common" "$kbuild")
  download headers "${packages[@]/%/=$version}" || without_module "the kernel's headers can't be downloaded"
  for package in headers/*.deb; do dpkg -x "$package" headers; done
  rm headers/*.deb
  echo "$release $version" >headers/made-of
fi
# The one absolute path in Debian's headers: where the common ones are.
sed -i "s#[^ ]*/usr/src/#$folder/headers/usr/src/#" "headers/usr/src/linux-headers-$release/Makefile"

rm -rf module && mkdir module
case $module in
  test_nic)
    cp "$here"/*.[ch] module/
    printf 'obj-m := test_nic.o\ntest_nic-y := nic.o nic_buffers.o nic_ethtool.o nic_headroom.o\n' >module/Makefile
    ;;
  netdevsim)
    # linux-source-6.1 of 6.1.0-NN: 140 MB to download and 15 s to read through, of which one folder is kept.
    source=linux-source-$(cut -d. -f1-2 <<<"$release")
    download module "$source=$version" || without_module "the kernel's source can't be downloaded"
    dpkg --fsys-tarfile module/*.deb | tar -xO "./usr/src/$source.tar.xz" |
      tar -xJ -C module --strip-components=4 "$source/drivers/net/netdevsim"
    rm module/*.deb
    ;;
esac
make -s -C "headers/usr/src/linux-headers-$release" "M=$folder/module" CONFIG_NETDEVSIM=m CONFIG_DEBUG_INFO_BTF_MODULES= modules >module/log 2>&1 ||
  { cat module/log; exit 1; }
strip --strip-debug -o "$module.ko" "module/$module.ko"
rm -rf module
echo "$of" >"$module.of"
