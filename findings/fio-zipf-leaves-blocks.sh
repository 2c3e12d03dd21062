#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), random_distribution=zipf and pareto; 3.41 does the same
# Guess     With enough writes each block of the file is written once at least, the popular ones more often.
# Seen      Blocks are spread by a hash whose range is a power of two. Of 1,024 blocks all are written by 600,000 writes; of 1,000 blocks 692
#           never are, of 1,280 blocks 333, however long it runs and whatever the exponent.
# Matters   Such a job ages less of the drive than its size says: what it never writes is spare space, and amplification comes out too low.
#           Precondition first, or take a power of two.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
# unwritten BLOCKS DISTRIBUTION: writes a file of zeros 600 times over with other bytes, and counts the blocks that still have zeros.
unwritten() {
    rm -f disk
    truncate -s $(($1 * 4096)) disk
    tool fio --name=w --filename=disk --ioengine=mmap --rw=randwrite --bs=4k --size=$(($1 * 4096)) --io_size=$((600 * $1 * 4096)) \
        --random_distribution="$2" --norandommap=1 --buffer_pattern=0xff --output=/dev/null
    python3 -c '
blocks = open("disk", "rb").read()
print(sum(blocks[at] == 0 for at in range(0, len(blocks), 4096)))'
}
expect 'unwritten of 1,024 blocks' "$(unwritten 1024 zipf:0.6)" 0
expect 'of 1,000' "$(unwritten 1000 zipf:0.6)" 692
expect 'of 1,000, another exponent' "$(unwritten 1000 zipf:1.1)" 692
expect 'of 1,000, pareto' "$(unwritten 1000 pareto:0.5)" 692
expect 'of 1,280' "$(unwritten 1280 zipf:0.6)" 333
