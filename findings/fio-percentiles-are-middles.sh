#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), percentiles in its JSON; 3.41 does the same
# Guess     Of a single request all percentiles are its latency, as the least and the greatest are.
# Seen      They are the middle of the latency's bucket, of which there are 64 between powers of two: up to 0.78 % to either side, and
#           beyond the least and the greatest latency that stand beside them.
# Matters   A percentile above the maximum is no error of the drive, and two runs whose percentiles are equal to the digit were not equally
#           fast: compare with tools that print values, such as wane, within 0.8 %.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
head -c 1M /dev/urandom >disk
# Of each of 40 single reads: whether all percentiles are the middle of the bucket, and whether that is the latency.
for ((number = 0; number < 40; number++)); do
    tool fio --name=r --filename=disk --ioengine=psync --rw=randread --bs=4k --number_ios=1 --percentile_list=1:50:99:100 \
        --randseed=$number --output-format=json --output=json
    python3 -c '
import json
text = open("json").read()
latency = json.loads(text[text.index("{"):])["jobs"][0]["read"]["clat_ns"]
value, told = latency["max"], set(latency["percentile"].values())
shift = max(value.bit_length() - 7, 0)
middle = (value >> shift << shift) + (1 << shift >> 1)
print("one" if latency["min"] == value and latency["N"] == 1 else "several",
      "middle" if told == {middle} else f"{told}, not {middle}",
      "within" if abs(middle / value - 1) < 0.0079 else "beyond")'
done >seen
expect 'requests, percentiles, within 0.79 %' "$(sort seen | uniq -c | xargs)" '40 one middle within'
