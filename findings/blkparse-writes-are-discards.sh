#!/usr/bin/env bash
# Tool      blktrace 1.2.0 (Debian bookworm, 1.2.0-5), the summary of `blkparse`, and `btt`
# Guess     "Writes Completed" counts what was written; a discard carries no data and is counted elsewhere, or nowhere.
# Seen      Discards and flushes are writes in the summary. Ten writes of 4 KiB, a discard of 1 GiB and an empty flush are "12, 1048MiB",
#           and the throughput has the gibibyte too. The lines above it say D, W and FWS. btt's average request has the discard as well.
# Matters   Drive writes, write amplification and a trace's length taken from the summary are those of a mount with discard, not of
#           data. Count the lines by their letters, as `wane trace info` does.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm blktrace=1.2.0-5
python3 - "$TEMP/sda.blktrace.0" <<'TRACE'
import struct
import sys

READ, WRITE, FLUSH, SYNC, QUEUE, ISSUE, COMPLETE, DISCARD = (1 << bit for bit in (0, 1, 2, 3, 4, 6, 7, 13))
requests = [(8 * i, 4096, WRITE) for i in range(10)] + [(0, 4096, READ), (1 << 21, 1 << 30, WRITE | DISCARD), (0, 0, WRITE | FLUSH | SYNC)]
events = []
for number, (sector, size, kind) in enumerate(requests):
    for step, (category, action) in enumerate(((QUEUE, 1), (ISSUE, 7), (COMPLETE, 8))):
        time = 200_000 * number + 1_000 * step
        word = (kind | category) << 16 | action
        events.append(struct.pack("<IIQQIIIIIHH", 0x65617407, len(events) + 1, time, sector, size, word, 1, 8 << 20, 0, 0, 0))
open(sys.argv[1], "wb").write(b"".join(events))
TRACE
(cd "$TEMP" && tool blkparse -i sda >summary)
expect 'bytes of the lines of writes' "$(awk '$6 == "C" && $7 == "W" { n += $10 * 512 } END { print n }' "$TEMP/summary")" 40960
expect 'the line of the discard' "$(awk '$6 == "C" && $7 ~ /D/ { print $7, $10 }' "$TEMP/summary")" 'D 2097152'
expect 'the summary' "$(sed -n 's/.*\(Writes Completed: *[0-9]*, *[0-9]*.iB\).*/\1/p' "$TEMP/summary" | head -n 1 | tr -s ' ')" \
    'Writes Completed: 12, 1048MiB'
