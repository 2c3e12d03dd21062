#!/usr/bin/env bash
# Tools     nbdcopy of libnbd 1.14.2 (Debian bookworm, 1.14.2-1), onto nbdkit 1.32.5 (bookworm, 1.32.5-1); 1.22.2 does the same
# Guess     Once nbdcopy has copied a file to a server and exited with 0, the server was asked to make it durable.
# Seen      It sends no flush, although the server offers one, unless --flush is given; then one on each of its connections, here one. Holes of
#           the source become zeroes that the server may trim, and with --allocated zeroes that it may not.
# Matters   A drive that loses its power after such a copy may lose the copy. With --allocated the holes are written as well, and cost flash.
set -euo pipefail
TEMP=$(mktemp -d)
SERVER=
trap '[ -z "$SERVER" ] || kill "$SERVER"; rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm libnbd-bin=1.14.2-1 nbdkit=1.32.5-1
cd "$TEMP"
truncate -s 8M source
head -c 1M /dev/urandom | dd of=source bs=1M seek=2 conv=notrunc status=none
# What the server was asked to do by `nbdcopy OPTION... source SERVER` on one connection: writes of data, zeroes with and without leave to trim, flushes.
copy() { tool nbdcopy --connections=1 "$@" source "$URI"; }
asked() {
    served 8 copy "$@"
    ANSWER="$(grep -c ' Write id=' log) $(grep -c ' Zero id=.* trim=1' log) $(grep -c ' Zero id=.* trim=0' log) $(grep -c ' Flush id=' log)" || true
}
asked
expect 'the server can flush' "$(grep -o ' flush=[01]' log | sort -u | xargs)" 'flush=1'
expect 'writes, zeroes that may trim, that may not, flushes' "$ANSWER" '4 2 0 0'
asked --flush
expect 'with --flush' "$ANSWER" '4 2 0 1'
asked --allocated
expect 'with --allocated' "$ANSWER" '4 0 2 0'
