#!/usr/bin/env bash
# Tools     smartmontools 7.3 (7.3-1+b1) and nvme-cli 2.3 (2.4+really2.3-3), both Debian bookworm: one entry of an NVMe error log
# Guess     Both print the same status of an unrecovered read error: 0x281.
# Seen      nvme-cli prints 0x281 and the phase tag apart. smartctl's column "Status" is the field as it lies in the log, shifted by the
#           phase tag: 0x0503, or 0x0502 with the other phase. The same error has two numbers in smartctl, and neither is the standard's.
# Matters   Entries counted or joined by status fall apart between the tools, and in smartctl's by the phase of the queue.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm smartmontools=7.3-1+b1 nvme-cli=2.4+really2.3-3
drive
status() {
    python3 "$LIB/pages.py" nvme "$PAGES" entries=1 status=0x281 "phase=$1"
    tool smartctl -d nvme -l error /dev/null | awk '$1 == "0" { print $5 }'
    tool nvme error-log /dev/null -e 1 | awk '$1 == "status_field" { print substr($3, 1, 5) }'
}
expect 'phase 1, smartctl and nvme-cli' "$(status 1 | xargs)" '0x0503 0x281'
expect 'phase 0, smartctl and nvme-cli' "$(status 0 | xargs)" '0x0502 0x281'
