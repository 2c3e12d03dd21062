#!/usr/bin/env bash
# Tools     hdrhistogram 0.10.8 (PyPI, Python) and hdrhistogram 7.6.0 (crates.io, Rust): one histogram of 600 values
# Guess     The ports of HdrHistogram agree on every percentile of the same counts: they say that they are ports of one library.
# Seen      Of 599 values of 100 and one of 50,000, every percentile above 99.8333 is the one. Rust agrees. Python rounds the rank to the
#           nearest instead of up, so that its 99.9 and its 99.91 are 100, and the one is first seen from 99.917 on.
# Matters   With few thousand requests, a percentile of a tail is another request in a notebook than in wane: compare like with like, or
#           take percentiles with ten or more requests above them.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

python3 -m venv "$TEMP/venv"
"$TEMP/venv/bin/pip" -q --disable-pip-version-check install hdrhistogram==0.10.8
mkdir -p "$TEMP/tail/src"
cat >"$TEMP/tail/Cargo.toml" <<'CARGO'
[package]
name = "tail"
version = "0.1.0"
edition = "2021"
[dependencies]
hdrhistogram = { version = "=7.6.0", default-features = false }
[workspace]
CARGO
cat >"$TEMP/tail/src/main.rs" <<'RUST'
fn main() {
    let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 10_000_000, 3).unwrap();
    histogram.record_n(100, 599).unwrap();
    histogram.record(50_000).unwrap();
    for percentile in [99.8, 99.84, 99.9, 99.91, 99.95] {
        print!("{} ", histogram.value_at_percentile(percentile));
    }
}
RUST
expect 'Rust at 99.8, 99.84, 99.9, 99.91, 99.95' "$(cargo run -q --manifest-path "$TEMP/tail/Cargo.toml")" '100 50015 50015 50015 50015 '
expect 'Python at the same' "$("$TEMP/venv/bin/python" -c '
from hdrh.histogram import HdrHistogram
histogram = HdrHistogram(1, 10_000_000, 3)
histogram.record_value(100, 599)
histogram.record_value(50_000)
for percentile in (99.8, 99.84, 99.9, 99.91, 99.95):
    print(histogram.get_value_at_percentile(percentile), end=" ")')" '100 100 100 100 50015 '
