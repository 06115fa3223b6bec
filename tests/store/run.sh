#!/usr/bin/env bash
# run.sh LOCKSTEP: the journal's disk is full, or the journal is read-only, damaged or of a newer layout. Runs in its own
# mount and network namespaces. The oracles are /proc/sys, exit codes and the file itself.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
own_machine gpu1 "mounts file systems of a few KiB" "$0" "$@"
probing=/proc/sys/net/ipv4/tcp_mtu_probing
mkdir "$work/disk"
one_host pod gpu1 "net.ipv4.tcp_mtu_probing: 1"
apply() { "$lockstep" apply --yes "$work/pod"; }
# Makes a state directory on its own file system, with the journal of one apply, or without a journal (new).
disk() { # SIZE [new]
  umount "$work/disk" 2>/dev/null || true
  mount -t tmpfs -o "size=$1" none "$work/disk"
  export LOCKSTEP_STATE_DIR=$work/disk/state
  echo 0 >$probing
  if [ "${2:-}" = new ]; then return; fi
  apply >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "the first apply"; }
  journal=$(find "$work/disk" -name '*.sqlite')
  [ "$(cat $probing)" = 1 ] && [ -s "$journal" ] || fail "no apply, or no journal, to begin with"
  echo 0 >$probing
}
# fill KIB: fills the disk except for KIB KiB.
fill() {
  dd if=/dev/zero of="$work/disk/filler" bs=4096 status=none 2>/dev/null || true
  truncate -s "$(($(stat -c %s "$work/disk/filler") - $1 * 1024))" "$work/disk/filler"
}
# refused TEXT: an apply writes nothing to the device, reports TEXT and ends with 1.
refused() {
  expect 1 "$1" apply
  [ "$(cat $probing)" = 0 ] || fail "'$1': it wrote to the device all the same"
}

disk 512k
fill 0
refused "make room on that file system and try again"
rm "$work/disk/filler"
expect 0 kept apply

disk 512k new
fill 0
refused "No space left on device"

disk 512k
mount -o remount,ro none "$work/disk"
refused "Read-only file system"

# Damaged: truncated anywhere, or with the first byte of each page changed. An apply leaves the file unchanged.
damaged() { # WHAT
  cp "$journal" "$work/damaged"
  refused "the file is damaged: \`lockstep state restore BACKUP\`"
  cmp "$journal" "$work/damaged" || fail "$1: the damaged file was changed"
}
disk 512k
cp "$journal" "$work/whole"
size=$(stat -c %s "$work/whole")
for left in 100 4096 5000 $((size / 2)) $((size - 4096)); do
  truncate -s "$left" "$journal"
  damaged "cut to $left bytes"
  cp "$work/whole" "$journal"
done
for ((page = 0; page < size; page += 4096)); do
  printf '\xff' | dd of="$journal" bs=1 seek="$page" conv=notrunc status=none
done
damaged "the first byte of each page"

# A newer layout: user_version, 4 bytes at 60 (sqlite.org/fileformat2.html, "The Database Header").
disk 512k
printf '\0\0\0\x63' | dd of="$journal" bs=1 seek=60 conv=notrunc status=none
cp "$journal" "$work/newer"
refused "written by a newer lockstep (layout 99, this one knows"
cmp "$journal" "$work/newer" || fail "the newer file was changed"

# journalled_whole: the newest change ended as kept, with its one step.
journalled_whole() {
  "$lockstep" history -o json "$work/pod" | python3 -c '
import json, sys
newest = max(json.load(sys.stdin)["changes"], key=lambda one: one["change"])
sys.exit(not (newest["outcome"] == "kept" and newest["steps"] == 1))'
}

# The disk fills up in the middle of an apply. For each number of free pages, the next run with free space reports the write
# to the device as in flight, or the change was journalled completely (and only the copy of the specs could not be stored).
middle=0
for left in $(seq 0 4 400); do
  disk 1m
  fill "$left"
  code=0
  apply >"$work/out" 2>&1 || code=$?
  rm "$work/disk/filler"
  wrote=$(cat $probing)
  [ $code -le 1 ] || fail "$left KiB left: exit code $code: $(cat "$work/out")"
  [ $code = 0 ] && [ "$wrote" != 1 ] && fail "$left KiB left: nothing was written, and it ends with 0"
  if [ $code = 1 ] && [ "$wrote" = 1 ]; then
    grep -q "make room on that file system" "$work/out" || fail "$left KiB left: no advice: $(cat "$work/out")"
    if journalled_whole; then
      told=""
    else
      told="in flight"
      middle=$((middle + 1))
    fi
    expect 0 "$told" apply
  fi
  expect 0 "" apply
  [ "$(cat $probing)" = 1 ] || fail "$left KiB left: not even with room"
  [ $code = 0 ] && break
done
[ $code = 0 ] || fail "an apply needs more than 400 KiB of journal"
[ $middle -gt 0 ] || fail "no disk was full between the first write to the device and the end"
echo "$middle of the disks were full in the middle of an apply; the last had $left KiB"
failed_none
