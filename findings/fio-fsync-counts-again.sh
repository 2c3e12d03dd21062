#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), `fsync=N` and `fdatasync=N` in jobs that read and write; 3.25 (bullseye) syncs as often
# Guess     As the manual says: the file is synced after every N writes issued, so that W writes make W / N syncs, whatever is read between; the
#           results' `sync` has them.
# Seen      It is synced before each request for which the number of writes is a multiple of N, unless the request before it was a sync. Each read that
#           comes before the next write is followed by one more: with half of the requests reads there are twice as many syncs as W / N, with nine tenths
#           ten times. Those of `fdatasync` are made and are in no figure: `sync.total_ios` is 0.
# Matters   The rarer writes are, the more a mixed job flushes: a device under `rwmixread=90,fsync=4` sees more flushes than writes.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

cd "$TEMP"
truncate -s 16M disk
cat >counts.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static int called;
static int pass(const char *name, int file) { called++; return ((int (*)(int))dlsym(RTLD_NEXT, name))(file); }
int fsync(int file) { return pass("fsync", file); }
int fdatasync(int file) { return pass("fdatasync", file); }
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%d\n", called); }
C
cc -shared -fPIC -o counts.so counts.c -ldl
# synced READS KEY: how often the file is synced for each four writes, to the nearest whole number, and the share of that in the results, percent.
synced() {
    PRELOAD=$TEMP/counts.so tool fio --name=m --thread --filename=disk --ioengine=psync --rw=randrw --rwmixread="$1" --bs=4k --size=16M --"$2"=4 \
        --output-format=json --output=json 2>called
    python3 -c '
import json
text = open("json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
called = int(open("called").read().split()[-1])
print(round(4 * called / job["write"]["total_ios"]), "syncs,", round(100 * job["sync"]["total_ios"] / called), "% of them told")'
}
unpack bookworm fio=3.33-3
for key in fsync=100 fdatasync=0; do
    for reads in 0=1 50=2 90=10; do
        seen=$(synced "${reads%=*}" "${key%=*}")
        expect "${key%=*}=4, ${reads%=*} % reads" "$seen" "${reads#*=} syncs, ${key#*=} % of them told"
    done
done
