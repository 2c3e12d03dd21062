#!/usr/bin/env bash
# Tool      smartmontools 7.3 (Debian bookworm, 7.3-1+b1), `smartctl -A` and `smartctl -A --json`; 7.5 does the same
# Guess     `power_on_time.hours` of the JSON is the number that the table shows for attribute 9 before its bracket.
# Seen      The table shows "20000 (1 0 0)" or "20000 (0 1 0)" where a drive keeps something of its own above the low 24 bits. The
#           JSON has 20,000 hours with the second, and no `power_on_time` at all with the first, in the byte right above the hours. In
#           that byte's case only the attribute's text has the hours; its `raw.value` is the whole 48 bits.
# Matters   Rates per hour, the end of life from one record, and checks of totals against hours silently have nothing to work with.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm smartmontools=7.3-1+b1
drive
hours() {
    python3 "$LIB/pages.py" ata "$PAGES" 'EXAMPLE SSD' "9:95:$1"
    tool smartctl -d ata -A --json /dev/null | python3 -c '
import json, sys
record = json.load(sys.stdin)
raw = record["ata_smart_attributes"]["table"][0]["raw"]
print(raw["string"], raw["value"], record.get("power_on_time", {}).get("hours"), sep=" | ")'
}
expect 'hours alone' "$(hours 20000)" '20000 | 20000 | 20000'
expect 'one in byte 5' "$(hours $((20000 | 1 << 40)))" "20000 (1 0 0) | $((20000 | 1 << 40)) | 20000"
expect 'one in byte 4' "$(hours $((20000 | 1 << 32)))" "20000 (0 1 0) | $((20000 | 1 << 32)) | 20000"
expect 'one in byte 3' "$(hours $((20000 | 1 << 24)))" "20000 (0 0 1) | $((20000 | 1 << 24)) | None"
