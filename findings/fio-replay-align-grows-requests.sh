#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), `replay_align` and `replay_scale` with a trace in blktrace's form
# Guess     `replay_align=65536` moves each request to a multiple of 64 KiB, and a request of 4 KiB stays one of 4 KiB; in an iolog of
#           fio's own it does the same.
# Seen      The length is rounded up as well: ten writes of 4 KiB become ten of 64 KiB, sixteen times the bytes, without a word. The same
#           requests as fio's iolog, version 3, are left as they are: there both options do nothing.
# Matters   A trace fitted to a smaller drive by these options writes another volume than the trace, and drive writes are not
#           comparable with a replay in wane, where remapping keeps each length.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
truncate -s 16M disk
python3 - <<'TRACE'
import struct

WRITE, QUEUE, NOTIFY = 1 << 1, 1 << 4, 1 << 10
event = "<IIQQIIIIIHH"
with open("trace", "wb") as trace, open("iolog", "w") as iolog:
    print("fio version 3 iolog", "0 disk add", "0 disk open", sep="\n", file=iolog)
    for i in range(10):
        trace.write(struct.pack(event, 0x65617407, i + 1, i * 1000, i * 136, 4096, (WRITE | QUEUE) << 16 | 1, 1, 8 << 20, 0, 0, 0))
        print(i, "disk write", i * 136 * 512, 4096, file=iolog)
    print("10 disk close", file=iolog)
TRACE
written() {
    tool fio --name=r --ioengine=null --filename=disk --replay_redirect=disk --read_iolog="$1" "${@:2}" --output-format=json --output=json
    python3 -c '
import json
text = open("json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
print(job["write"]["total_ios"], job["write"]["io_bytes"])'
}
expect 'the trace' "$(written trace)" '10 40960'
expect 'the trace, aligned' "$(written trace --replay_align=65536)" '10 655360'
expect 'the iolog' "$(written iolog)" '10 40960'
expect 'the iolog, aligned' "$(written iolog --replay_align=65536)" '10 40960'
