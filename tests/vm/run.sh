#!/usr/bin/env bash
# run.sh [-k METAPACKAGE] [-c CPUS] [-b MODULES] [-m MODULES] [-t TOOLS] [-f FILES] [-q ARGUMENTS] KERNEL OUT
# PROGRAM [ARGUMENT]... runs a GoogleTest program under the kernel in KERNEL (kernel.sh; -k: one of Debian's
# newer kernels) in an emulated machine with one CPU (-c: number of CPUs). -m: kernel modules to load; -b:
# modules that netdev/build.sh builds; -t: programs of the host for PATH; -f: other files of the host
# (patterns), such as those that a program finds by name at run time; -q: hardware, as QEMU arguments. The
# machine has nothing else. Exit code: that of the program; 77: skipped, with one line of why; 1: the machine
# gave no verdict, or a test was skipped, or none ran.
# OUT keeps `console`, which is shown on failure, and `console.first` of a machine that was started a second
# time.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/root.sh"
metapackage=linux-image-amd64 cpus=1 modules=() built=() tools=() files= hardware=()
while getopts k:c:b:m:t:f:q: option; do
  case $option in
    k) metapackage=$OPTARG ;;
    c) cpus=$OPTARG ;;
    b) read -ra built <<<"$OPTARG" ;;
    m) read -ra modules <<<"$OPTARG" ;;
    t) read -ra tools <<<"$OPTARG" ;;
    f) files=$OPTARG ;;
    q) read -ra hardware <<<"$OPTARG" ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
kernel=$(realpath -m "$1") out=$(realpath -m "$2") program=$(realpath "$3")
shift 3

"$here/kernel.sh" "$kernel" "$metapackage"
for module in "${built[@]}"; do "$here/netdev/build.sh" "$kernel" "$module"; done
release=$(cat "$kernel/version")

# The root of the machine is its initial RAM disk, uncompressed: unpacking is slow under emulation.
root=$out/root
rm -rf "$out"
mkdir -p "$root"/{dev,etc,proc,run/netns,shared,sys,tmp,var,usr/bin,usr/sbin,usr/lib64,usr/lib}
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
ln -s /run "$root/var/run"
cp "$here/init" "$root/init"
cp /bin/busybox "$root/usr/bin/"
ln -s ../bin/busybox "$root/usr/sbin/modprobe"  # what the kernel starts when it lacks a module

# 9p transfers the verdict to the host.
modules=(virtio_pci 9pnet_virtio 9p "${modules[@]}")
copy_modules "$kernel" "$root" "${modules[@]}"
for module in "${built[@]}"; do
  install -D -m644 "$kernel/$module.ko" "$root/lib/modules/$release/extra/$module.ko"
done
depmod -b "$root" "$release"
echo "${modules[*]} ${built[*]}" >"$root/modules"

binaries=("$program")
for tool in "${tools[@]}"; do binaries+=("$(realpath "$(command -v "$tool")")"); done
cp "${binaries[@]}" "$root/usr/bin/"
for file in $files; do  # patterns
  [ -e "$file" ] || { echo "the host has no $file"; exit 1; }
  install -D -m755 "$file" "$root/$file"
  case $file in *.so*) binaries+=("$file") ;; esac
done
copy_libraries "$root" "${binaries[@]}"
printf '%q ' "/usr/bin/$(basename "$program")" "$@" >"$root/command"
(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet) >"$out/initrd"
rm -rf "$root"

# Only the verdict that the guest writes counts. The exit code of QEMU is 0 after a panic with panic=-1 and
# -no-reboot.
mkdir "$out/shared"
# Emulation only (tcg), because it must work without /dev/kvm. PVH boots the ELF image; the self-tests of
# kernel crypto take 2 to 3 s. no_timer_check: on a busy host an emulated timer can be too late for the timer
# test of the kernel, and a failed test is a panic (kernel-parameters.txt). The time stamp counters of both
# emulated CPUs are that of the host, which the kernel cannot know: with its own choice, the HPET, each
# reading of the clock is a call into the emulator, which adds to latencies. A kernel that makes no progress
# for 60 s (twice the threshold) is stopped.
begun=$SECONDS
boot() {
  timeout -k 5 $((SECONDS - begun < 370 ? 400 + begun - SECONDS : 30)) qemu-system-x86_64 -accel tcg,thread=multi -machine q35 -cpu qemu64 -smp "$cpus" -m 512 \
    -nodefaults -no-user-config -display none -monitor none -serial "file:$out/console" -no-reboot \
    -kernel "$kernel/vmlinux" -initrd "$out/initrd" \
    -append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off watchdog_thresh=30 softlockup_panic=1 no_timer_check tsc=reliable cryptomgr.notests initcall_blacklist=crypto_kdf108_init" \
    -fsdev "local,id=shared,path=$out/shared,security_model=none" -device virtio-9p-pci,fsdev=shared,mount_tag=shared \
    "${hardware[@]}" </dev/null || echo "qemu: exit code $?" >>"$out/console"
}
boot
# Faults of the emulation of several CPUs on busy hosts: an emulated CPU can execute a jump label that the
# other one is patching, and the kernel then does not recognize the breakpoint there ("Oops: int3" at boot,
# before any test); or both wait for each other forever in the middle of a test. The machine is then started a
# second time.
fault=
if [ ! -e "$out/shared/verdict" ] && [ "$cpus" -gt 1 ]; then
  if grep -q 'Oops: int3' "$out/console" && ! grep -q '^\[ RUN' "$out/console"; then fault='stopped at boot (int3)'; fi
  if grep -q 'Kernel panic.*softlockup: hung tasks' "$out/console"; then fault='hung (soft lockup)'; fi
fi
if [ -n "$fault" ]; then
  echo "the emulated kernel $fault; once more"
  mv "$out/console" "$out/console.first"
  echo "what it said: $out/console.first"
  boot
fi
rm -f "$out/initrd"

verdict=$(cat "$out/shared/verdict" 2>/dev/null || echo none)
if [ "$verdict" = 0 ] && grep -q '^\[  PASSED  \] [1-9]' "$out/console" && ! grep -q '^\[  SKIPPED' "$out/console"; then
  grep '^\[  PASSED  \]' "$out/console"
  exit 0
fi
cat "$out/console"
echo "the machine's verdict: $verdict (0 is needed, and that every test was run)"
case $verdict in 0 | 77 | none) exit 1 ;; *) exit "$verdict" ;; esac
