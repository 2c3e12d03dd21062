#!/usr/bin/env bash
# Libraries reed-solomon-simd 3.1.0 (crates.io, Rust) and klauspost/reedsolomon 1.14.2 (Go, with Leopard's GF(2^16)): shares by FFT
# Guess     Both say that they follow Leopard-RS, so shares of one are shares for the other.
# Seen      They are equal as long as the number of parities, rounded up to a power of two, is at most that of data: 4 + 2, 5 + 4, 8 + 8. With
#           more they differ: 2 + 3, 2 + 4, 3 + 8. Each library solves its own.
# Matters   An archive of one is lost to the other, and nothing in a share tells: write down which code made it. wane's `actor` uses the first.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'chmod -R u+w "$TEMP"; rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

mkdir -p "$TEMP/rust/src" "$TEMP/go"
cat >"$TEMP/rust/Cargo.toml" <<'CARGO'
[package]
name = "shares"
version = "0.1.0"
edition = "2021"
[dependencies]
reed-solomon-simd = "=3.1.0"
[workspace]
CARGO
cat >"$TEMP/rust/src/main.rs" <<'RUST'
fn main() {
    for code in std::env::args().skip(1) {
        let (data, parities) = code.split_once('+').unwrap();
        let (data, parities): (usize, usize) = (data.parse().unwrap(), parities.parse().unwrap());
        let shares = (0..data).map(|share| (0..64).map(|at| (share * 64 + at) as u8 ^ 0x5a).collect::<Vec<u8>>());
        let made = reed_solomon_simd::encode(data, parities, shares).unwrap();
        println!("{code} {}", made.concat().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
}
RUST
cat >"$TEMP/go/main.go" <<'GO'
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/klauspost/reedsolomon"
)

func main() {
	for _, code := range os.Args[1:] {
		var data, parities int
		if _, err := fmt.Sscanf(code, "%d+%d", &data, &parities); err != nil {
			panic(err)
		}
		encoder, err := reedsolomon.New(data, parities, reedsolomon.WithLeopardGF16(true))
		if err != nil {
			panic(err)
		}
		shares := make([][]byte, data+parities)
		for share := range shares {
			shares[share] = make([]byte, 64)
			for at := 0; share < data && at < 64; at++ {
				shares[share][at] = byte(share*64+at) ^ 0x5a
			}
		}
		if err := encoder.Encode(shares); err != nil {
			panic(err)
		}
		fmt.Printf("%s %x\n", code, bytes.Join(shares[data:], nil))
	}
}
GO
CODES=(4+2 3+3 8+8 5+4 2+3 2+4 3+8)
cargo run -q --manifest-path "$TEMP/rust/Cargo.toml" -- "${CODES[@]}" >"$TEMP/rust/shares"
(
    cd "$TEMP/go"
    export GOPATH=$TEMP/gopath GOFLAGS=-mod=mod
    go mod init shares 2>/dev/null
    go get github.com/klauspost/reedsolomon@v1.14.2 2>/dev/null
    go run . "${CODES[@]}" >shares
)
expect 'codes whose shares are equal' "$(comm -12 <(sort "$TEMP/rust/shares") <(sort "$TEMP/go/shares") | cut -d' ' -f1 | xargs)" '3+3 4+2 5+4 8+8'
expect 'codes whose shares differ' "$(comm -23 <(sort "$TEMP/rust/shares") <(sort "$TEMP/go/shares") | cut -d' ' -f1 | xargs)" '2+3 2+4 3+8'
