#!/usr/bin/env bash
# kernel.sh FOLDER [METAPACKAGE]: unpacks Debian's kernel, or the newer one of METAPACKAGE, into FOLDER
# without installing it: `vmlinux` (an ELF image), `version`, and the modules under `lib/modules`. Repeated
# when apt offers another version. Exit code 77, with one line of why: not available here.
set -euo pipefail
folder=$(realpath -m "$1") metapackage=${2:-linux-image-amd64}
cd "$(dirname "$0")/../.."
. tests/needs.sh

[ "$(uname -m)" = x86_64 ] || not_tested "anything in the VM lab, which is for x86_64"

mkdir -p "$folder"
exec {lock}>"$folder/../vm.lock"  # apt installs for one at a time, whichever kernel it is for
flock "$lock"
cmake/install-packages.sh vm >&2 || not_tested_but_on_ci "the VM lab needs QEMU, which can't be installed here"

cd "$folder"

# The metapackage's dependency: linux-image-6.1.0-NN-amd64, where NN moves with security updates.
offer() {
  package=$(apt-cache depends "$metapackage" 2>/dev/null | awk '/Depends: linux-image-[0-9]/ {print $2}')
  version=$(apt-cache policy "$package" 2>/dev/null | awk '/Candidate:/ {print $2}')
  [ -n "$version" ]
}
download() { apt-get -qq -o APT::Sandbox::User=root download "$package=$version"; }
use_older_or_skip() {
  [ ! -e made-of ] || exit 0
  not_tested "anything under Debian's kernel: $1"
}

offer || { apt-get -qq update && offer; } || use_older_or_skip "apt offers no $metapackage"
[ "$(cat made-of 2>/dev/null)" != "$package $version" ] || exit 0
rm -f ./*.deb
# The package lists may be older than the archive, which drops superseded versions.
download || { apt-get -qq update && offer && download; } || use_older_or_skip "$package can't be downloaded"

rm -rf made-of vmlinux version boot lib usr
dpkg -x ./*.deb .
release=${package#linux-image-}
depmod -b . "$release"

# A bzImage contains vmlinux as an xz or zstd stream; self-decompression takes 8 s under emulation. Its header
# has the start and length of the stream, whose last 4 bytes are the uncompressed size
# (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).
field() { od -An -v -t "u$2" -j "$1" -N "$2" "boot/vmlinuz-$release" | tr -d ' '; }
start=$((($(field $((0x1f1)) 1) + 1) * 512 + $(field $((0x248)) 4)))
length=$(($(field $((0x24c)) 4) - 4))
{ head -c "$start" >/dev/null && head -c "$length"; } <"boot/vmlinuz-$release" >payload
xz -dcq --single-stream payload >vmlinux 2>/dev/null || zstd -dcq payload >vmlinux
rm payload
rm -rf ./*.deb boot usr
echo "$release" >version
echo "$package $version" >made-of
