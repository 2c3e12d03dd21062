#!/usr/bin/env bash
# Tools     qemu-img and qemu-io of qemu-utils 7.2 (Debian bookworm, 1:7.2+dfsg-7+deb12u18+b3), onto nbdkit 1.32.5 (bookworm, 1.32.5-1)
# Guess     qemu-img dd copies a file with holes as qemu-img convert does; each writes its target alone; qemu-io's write is as cached as a write of
#           qemu-img bench.
# Seen      Of a file of 16 MiB with 1 MiB of data convert writes 1 MiB and zeroes two ranges that may be trimmed; dd writes all 16 MiB, and before
#           that zeroes the first 512 bytes of the target. Each write of qemu-io has FUA, unless -t writeback is given; of qemu-img bench none has.
# Matters   An image put on a drive by dd costs flash for its holes, and they are data from then on; its first request is smaller than a page.
#           Latencies of qemu-io are those of durable writes, those of qemu-img bench are not.
set -euo pipefail
TEMP=$(mktemp -d)
SERVER=
trap '[ -z "$SERVER" ] || kill "$SERVER"; rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm qemu-utils=1:7.2+dfsg-7+deb12u18+b3 nbdkit=1.32.5-1
cd "$TEMP"
truncate -s 16M source
head -c 1M /dev/urandom | dd of=source bs=1M seek=2 conv=notrunc status=none
# What the server was asked to do by `TOOL ARGUMENT...`: MiB written, zeroes, bytes of the shortest of them, and writes with FUA.
asked() {
    served 16 with_address "$@"
    [ "$ENDED" = 0 ]
    ANSWER=$(python3 - <<'P'
import re
found = [(m[1], int(m[2], 16), m[3] == "1") for m in re.finditer(r" (Write|Zero) id=.*? count=(0x[0-9a-f]+) .*?fua=([01])", open("log").read())]
zeroes = [count for what, count, _ in found if what == "Zero"]
print(sum(count for what, count, _ in found if what == "Write") / 2**20, len(zeroes), min(zeroes, default=0), sum(fua for *_, fua in found))
P
)
}
# The server's address is known once it runs: @ stands for it.
with_address() { tool "${@//@/$URI}" >out; }
echo "$(tool qemu-img --version | head -1)"
asked qemu-img convert -n -f raw -O raw source @
expect 'convert: MiB, zeroes, the shortest, with FUA' "$ANSWER" '1.0 2 2097152 0'
asked qemu-img dd -f raw -O raw if=source of=@ bs=1M
expect 'dd' "$ANSWER" '16.0 1 512 0'
asked qemu-io -f raw -c 'write 0 64k' @
expect 'qemu-io' "$ANSWER" '0.0625 0 0 1'
asked qemu-io -f raw -t writeback -c 'write 0 64k' @
expect 'qemu-io -t writeback' "$ANSWER" '0.0625 0 0 0'
asked qemu-img bench -f raw -w -c 16 -s 64k @
expect 'bench' "$ANSWER" '1.0 0 0 0'
