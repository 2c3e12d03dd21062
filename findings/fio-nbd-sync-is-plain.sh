#!/usr/bin/env bash
# Tools     fio 3.33 with its engine nbd (Debian bookworm, 3.33-3), against nbdkit 1.32.5 (bookworm, 1.32.5-1)
# Guess     sync=1 makes each write durable before the next, by FUA or a flush; fdatasync=4 does it after four writes, as fsync=4; an export that is
#           smaller than size= is an error.
# Seen      With sync=1 sixteen plain writes come, without FUA and without a flush, although the server offers both; so with direct=1. fsync=4 and
#           end_fsync=1 send flushes, but the fsync that follows the last write is left out (three of four). fdatasync=4 ends the job after four
#           writes with EINVAL. A job of 32 MiB on an export of 16 MiB ends well after 16 MiB.
# Matters   "Synchronous writes" measured so over NBD cost the drive no flush, and a power cut loses them: ask for fsync=1. A fill by size= may be
#           half of what was asked for: look at io= of the result.
set -euo pipefail
TEMP=$(mktemp -d)
SERVER=
trap '[ -z "$SERVER" ] || kill "$SERVER"; rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3 nbdkit=1.32.5-1
cd "$TEMP"
# What the server was asked to do by `fio OPTION...`: reads, writes, those of them with FUA, and flushes; and how fio ended.
job() { tool fio --name=a --ioengine=nbd --uri="$URI" --bs=64k --size=1m "$@" >out 2>&1; }
asked() {
    served 16 job "$@"
    ANSWER="$(grep -c ' Read id=' log) $(grep -c ' Write id=' log) $(grep -c ' Write id=.* fua=1' log) $(grep -c ' Flush id=' log) $ENDED" || true
}
asked --rw=write --sync=1
expect 'the server can flush and has FUA' "$(grep ' Connect ' log | grep -oE ' (flush|fua)=[0-9]' | sort -u | xargs)" 'flush=1 fua=2'
expect 'sync=1: reads, writes, with FUA, flushes, exit' "$ANSWER" '0 16 0 0 0'
asked --rw=write --sync=1 --direct=1
expect 'sync=1 and direct=1' "$ANSWER" '0 16 0 0 0'
asked --rw=write --fsync=4
expect 'fsync=4' "$ANSWER" '0 16 0 3 0'
asked --rw=write --end_fsync=1
expect 'end_fsync=1' "$ANSWER" '0 16 0 1 0'
asked --rw=write --fdatasync=4
expect 'fdatasync=4' "$ANSWER $(grep -o 'error=Invalid argument' out | sort -u)" '0 4 0 0 1 error=Invalid argument'
asked --rw=read --size=32m
expect '32 MiB of 16 MiB' "$ANSWER" '256 0 0 0 0'
