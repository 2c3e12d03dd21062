#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), `write_hist_log` with `log_hist_msec`
# Guess     The counts of all lines of a latency histogram log add up to the number of requests.
# Seen      The requests since the last full interval are in no line. A job that ends within its first interval leaves a log without a
#           line; one of about three seconds, in intervals of one, lacks those after the third line.
# Matters   Percentiles from such a log leave out the end of the job, a flush's or garbage collection's stall among it; with a long
#           interval they leave out most. Compare the sum with the summary's `total_ios` first.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
truncate -s 64M disk
logged() {
    rm -f hist*
    tool fio --name=h --filename=disk --ioengine=null --rw=write --bs=4k --size=64M --number_ios=7000 --rate_iops=2000 \
        --write_hist_log=hist --log_hist_msec="$1" --output-format=json --output=json
    python3 -c '
import json
text = open("json").read()
total = json.loads(text[text.index("{"):])["jobs"][0]["write"]["total_ios"]
logged = sum(sum(map(int, line.split(",")[3:])) for line in open("hist_clat_hist.1.log"))
print(total, "none" if logged == 0 else "all" if logged == total else "fewer")'
}
expect 'requests, and of these in the log of intervals of 10 s' "$(logged 10000)" '7000 none'
expect 'intervals of 1 s' "$(logged 1000)" '7000 fewer'
