#!/usr/bin/env bash
# Tool      smartmontools 7.3 (Debian bookworm, 7.3-1+b1), `smartctl -H`; 7.4 and 7.5 do the same
# Guess     An NVMe drive that is merely too hot, with bit 1 of its critical warning set, passes its health assessment with a warning.
# Seen      "SMART overall-health self-assessment test result: FAILED!", `smart_status.passed` false, and exit status 8, DISK FAILING, as
#           if the drive were read-only. NVMe has no assessment of the drive's own: smartctl calls every set bit a failure.
# Matters   The exit status and `passed` cannot tell a blocked fan from a worn drive. Only the bits of the critical warning can.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm smartmontools=7.3-1+b1
drive
health() {
    local status=0
    python3 "$LIB/pages.py" nvme "$PAGES" "$@"
    tool smartctl -d nvme -H --json /dev/null >"$TEMP/record.json" || status=$?
    python3 -c '
import json, sys
status = json.load(open(sys.argv[1]))["smart_status"]
print(status["passed"], status["nvme"]["value"], "exit", sys.argv[2])' "$TEMP/record.json" "$status"
}
expect 'a cool drive' "$(health warning=0 kelvin=313)" 'True 0 exit 0'
expect 'a hot drive' "$(health warning=2 kelvin=360)" 'False 2 exit 8'
expect 'a drive that is read-only' "$(health warning=8 kelvin=313)" 'False 8 exit 8'
