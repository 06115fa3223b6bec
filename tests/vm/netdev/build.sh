#!/usr/bin/env bash
# build.sh FOLDER MODULE: builds the kernel module FOLDER/MODULE.ko for the kernel in FOLDER (kernel.sh)
# against Debian's headers of the same version, which are unpacked without being installed: `test_nic`, our
# own beside this script, or `netdevsim` from the source of the same kernel, as Debian's kernel lacks it.
# Repeated when the kernel or the source changes. Exit code 77, with one line of why: not available here.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
module=$2
. "$here/../../needs.sh"
without_module() { not_tested "anything with $module: $*"; }
download() { (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "$2=$3"); }
# download_near FOLDER PACKAGE: of the kernel's version, or of a later build of the same release, which the archive has for
# some days before the kernel that is signed.
download_near() {
  local offered
  download "$1" "$2" "$version" 2>/dev/null && return
  offered=$(apt-cache policy "$2" | awk '/Candidate:/ {print $2}')
  [ "${offered%-*}" = "${version%-*}" ] && download "$1" "$2" "$offered"
}

exec {lock}>"$folder/lock"
flock "$lock"
cd "$folder"
read -r _ version <made-of
release=$(cat version)
source=
[ "$module" != test_nic ] || source=$(cat "$here"/*.[ch] | sha256sum)
of="$release $version $source"
[ "$(cat "$module.of" 2>/dev/null)" != "$of" ] || exit 0

# The dependencies of linux-headers without the metapackage of the compiler.
if [ "$(cat headers/made-of 2>/dev/null)" != "$release $version" ]; then
  rm -rf headers && mkdir headers
  kbuild=$(apt-cache depends "linux-headers-$release" 2>/dev/null | awk '/Depends: linux-kbuild-/ {print $2}') ||
    without_module "apt offers no headers of $release"
  for package in "linux-headers-$release" "linux-headers-${release%-amd64}-common"; do
    download headers "$package" "$version" || without_module "the kernel's headers can't be downloaded"
  done
  download_near headers "$kbuild" || without_module "$kbuild of the kernel's release can't be downloaded"
  for package in headers/*.deb; do dpkg -x "$package" headers; done
  rm headers/*.deb
  echo "$release $version" >headers/made-of
fi
# The only absolute path in Debian's headers: the folder of the common headers.
sed -i "s#[^ ]*/usr/src/#$folder/headers/usr/src/#" "headers/usr/src/linux-headers-$release/Makefile"

rm -rf module && mkdir module
case $module in
  test_nic)
    cp "$here"/*.[ch] module/
    printf 'obj-m := test_nic.o\ntest_nic-y := nic.o nic_buffers.o nic_ethtool.o nic_headroom.o\n' >module/Makefile
    ;;
  netdevsim)
    # linux-source-6.1 for 6.1.0-NN: 140 MB to download and 15 s to unpack, of which one folder is kept.
    source=linux-source-$(cut -d. -f1-2 <<<"$release")
    download_near module "$source" || without_module "the kernel's source can't be downloaded"
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
