#!/usr/bin/env bash
# Tool      nvme-cli 2.3 (Debian bookworm, 2.4+really2.3-3), `smart-log` and `endurance-log`, as JSON; 2.13 and 2.16 do the same
# Guess     `data_units_written` is the same unit in both: a thousand blocks of 512 bytes.
# Seen      Both have the keys `data_units_read`, `data_units_written` and `percent_used`, without a unit. The log of a drive (02h) counts
#           512,000 bytes, the one of an endurance group (09h) 1,000,000,000: the same 10.24 TB are 20,000,000 in one and 10,240 in the
#           other. Spare has two names, `avail_spare` and `avl_spare`. Only 09h has `media_units_written`, the writes to flash.
# Matters   Read as a health log, 10.24 TB become 0.005 TB; read right, it gives the write amplification that 02h has not.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm nvme-cli=2.4+really2.3-3
drive
python3 "$LIB/pages.py" nvme "$PAGES"
python3 - "$PAGES/log09" <<'PAGE'
import sys

page = bytearray(512)
page[3:6] = bytes([100, 10, 12])
for at, billions in ((48, 5_120), (64, 10_240), (80, 25_000)):  # read, written by the host, written to flash, each in 10^9 bytes
    page[at : at + 16] = billions.to_bytes(16, "little")
open(sys.argv[1], "wb").write(page)
PAGE
keys() {
    python3 -c '
import json, sys
record = json.load(sys.stdin)
for key in ("percent_used", "avail_spare", "avl_spare", "data_units_written", "media_units_written"):
    print(record.get(key), end=" ")'
}
expect 'a drive, 10.24 TB' "$(tool nvme smart-log /dev/null -o json | keys)" '12 100 None 20000000 None '
expect 'its group, 10.24 TB' "$(tool nvme endurance-log /dev/null -g 1 -o json | keys)" '12 None 100 10240 25000 '
