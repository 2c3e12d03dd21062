"""The machinery of tools/guest-test: its tools, the guest's kernel and initramfs, served drives, and the guest itself.

A guest is Debian's kernel with an initramfs of busybox and a few programs of this machine, run by QEMU's own translator (TCG): /dev/kvm is
missing in most places where tests run, and does not boot this kernel in some of the others. Its disks are NVMe controllers of QEMU over the
sockets of `wane serve`, or over files.

A guest runs one script, which it gets through its second serial port. The script tells what it sees through the same port, one line each. The
first port is its console; kernel, errors and what was told are in the log.
"""

import contextlib
import hashlib
import json
import lzma
import os
import platform
import queue
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

# Programs that run here or in the guest, and Debian's packages of them.
HERE = {
    "cpio": "cpio",
    "depmod": "kmod",
    "ldd": "libc-bin",
    "modprobe": "kmod",
    "qemu-system-x86_64": "qemu-system-x86",
}
INSIDE = {
    "busybox": "busybox-static",
    "fsck.f2fs": "f2fs-tools",
    "fstrim": "util-linux",
    "mdadm": "mdadm",
    "mkfs.f2fs": "f2fs-tools",
    "mkfs.xfs": "xfsprogs",
    "xfs_repair": "xfsprogs",
}
PACKAGES = HERE | INSIDE
# The checksums come first: XFS, F2FS and RAID look for them when they are loaded. Later kernels have them built in.
CHECKSUMS = ["crc32c_generic", "crc32_generic"]
MODULES = [*CHECKSUMS, "nvme", "f2fs", "xfs", "raid456"]
# On a machine that is busy with other things a guest may wait for its processor for long. It must not take that for a disk that does not answer,
# nor a late tick at its start for a broken timer.
NVME = "io_timeout=600 admin_timeout=600"
KERNEL = "console=ttyS0 loglevel=7 panic=-1 mitigations=off no_timer_check"
# Bytes of which the guest's files consist, so that both sides know them. They are random and do not compress.
POOL = random.Random(25).randbytes(4 << 20)
# Nothing here takes as long; whatever does hangs.
SECONDS_MAX = 1800

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /mnt /etc
/bin/busybox --install -s /bin
export PATH=/programs:/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /proc/mounts /etc/mtab
while read -r module; do insmod /modules/$module; done </order
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>/dev/console
# Nobody may be left to end it.
(sleep 7200; poweroff -f) &
echo ready
while IFS= read -r line && [ "$line" != END-OF-SCRIPT ]; do printf '%s\\n' "$line"; done >/script
sh -eu /script || echo "failed $?"
poweroff -f
"""

# What all scripts may use. `say` tells the host, `pause` waits for its answer.
LIBRARY = r"""
say() { echo "$*"; echo "guest: $*" >/dev/console; }
pause() { say "$@"; read -r _; }
# piece N BYTES: the contents of file N.
piece() { dd if=/pool iflag=skip_bytes skip=$(($1 * 8191 % 3000000)) bs="$2" count=1 2>/dev/null; }
# The order in which the kernel finds controllers is not always theirs.
disk() { for one in /sys/block/nvme*n1; do if grep -qw "$1" "$one/device/serial"; then echo "/dev/${one##*/}"; fi; done; }
# sums NAME FOLDER: the checksums of its files.
sums() { (cd "$2" && find . -type f ! -name 'noise*' -exec sha1sum {} +) | while read -r sum file; do echo "sum $1 ${file#./} $sum"; done; }
"""


class MissingError(Exception):
    """The test cannot run here; exit code 2."""


class FailureError(Exception):
    """Something is not as it should be; exit code 1."""


def piece(number: int, length: int) -> bytes:
    """The contents of a file, as `piece` of the guest writes them."""
    return POOL[number * 8191 % 3_000_000 :][:length]


def program(name: str) -> str | None:
    """Where a program lies. Folders of the system's programs are not in everybody's PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def run(command: list, **more) -> subprocess.CompletedProcess:
    """Runs a command to its end; what it prints is captured."""
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, **more)


def output_of(command: list, **more) -> str:
    """What a command prints that must succeed."""
    ended = run(command, **more)
    if ended.returncode:
        shown = " ".join([Path(command[0]).name, *map(str, command[1:])])
        raise FailureError(f"`{shown}` ended with {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-800:]}")
    return ended.stdout


def find_tools(install: bool) -> dict[str, str]:
    """Paths of all programs, installed if that was asked for."""
    if platform.machine() != "x86_64":
        raise MissingError(
            f"the guest is of x86-64 and takes its programs from this machine, which is of {platform.machine()}"
        )
    missing = sorted({package for name, package in PACKAGES.items() if program(name) is None})
    if missing and install:
        apt = program("apt-get")
        if apt is None or os.geteuid() != 0:
            raise MissingError(f"--install needs Debian and root, and these packages are missing: {' '.join(missing)}")
        quiet = [apt, "-qq", "-o", "DPkg::Lock::Timeout=300"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
            ended = run([*quiet, *words], env=environment)
            if ended.returncode:
                raise MissingError(f"apt-get {words[0]} ended with {ended.returncode}: {ended.stderr.strip()[-800:]}")
    absent = [name for name in PACKAGES if program(name) is None]
    if absent:
        names = " ".join(sorted({PACKAGES[name] for name in absent}))
        raise MissingError(
            f"missing: {', '.join(absent)}; on Debian: apt-get install {names}, or `tools/guest-test --install` as root"
        )
    return {name: program(name) for name in PACKAGES}


def fetch_kernel(cache: Path) -> Path:
    """The folder with Debian's kernel, unpacked. One that is there is taken, so that the test needs no network."""
    found = sorted(cache.glob("linux-image-*"))
    if found:
        return found[-1]
    apt, ask, unpack = program("apt-get"), program("apt-cache"), program("dpkg")
    if not (apt and ask and unpack):
        raise MissingError("apt-get, apt-cache or dpkg is missing: the guest's kernel is a package of Debian")
    ended = run([ask, "depends", "linux-image-amd64"])
    name = re.search(r"Depends: (linux-image-\S+)", ended.stdout)
    if name is None:
        raise MissingError(
            "apt-cache knows no linux-image-amd64, from which the guest's kernel is taken; on Debian: apt-get update"
        )
    part = cache / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    # Root's apt would download as another user, who may not write there.
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    ended = run([apt, *sandbox, "download", name[1]], cwd=part)
    packages = list(part.glob("*.deb"))
    if ended.returncode or not packages:
        raise MissingError(f"the package {name[1]} cannot be downloaded: {ended.stderr.strip()[-400:]}")
    output_of([unpack, "-x", packages[0], part / "root"])
    (part / "root").rename(cache / name[1])
    shutil.rmtree(part)
    return cache / name[1]


def find_modules(tools: dict[str, str], kernel: Path) -> tuple[str, list[Path]]:
    """The kernel's version, and the modules in the order in which they must be loaded."""
    # depmod and modprobe look below /lib, where later packages have nothing.
    if not (kernel / "lib").exists():
        (kernel / "lib").symlink_to("usr/lib")
    version = next((kernel / "lib/modules").iterdir()).name
    output_of([tools["depmod"], "-b", kernel, version])
    order: dict[Path, None] = {}
    for name in MODULES:
        show = [tools["modprobe"], "-C", "/dev/null", "-d", kernel, "-S", version, "--show-depends", name]
        ended = run(show)
        if ended.returncode and name not in CHECKSUMS:
            raise FailureError(f"the kernel {version} has no module {name}: {ended.stderr.strip()}")
        order.update((Path(line.split()[1]), None) for line in ended.stdout.splitlines() if line.startswith("insmod "))
    return version, list(order)


def libraries(tools: dict[str, str]) -> set[Path]:
    """What the guest's programs load: libraries and the loader itself, which `ldd` lists without an arrow."""
    found = set()
    for name in INSIDE:
        ended = run([tools["ldd"], tools[name]])
        found |= {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", ended.stdout, re.MULTILINE)}
    return found


def build_initramfs(tools: dict[str, str], kernel: Path, cache: Path) -> tuple[Path, Path]:
    """The kernel's image and the initramfs, which is built anew if its inputs have changed."""
    image = next((kernel / "boot").glob("vmlinuz-*"))
    version, modules = find_modules(tools, kernel)
    files = {Path("programs", name): Path(tools[name]) for name in INSIDE if name != "busybox"}
    files[Path("bin/busybox")] = Path(tools["busybox"])
    files |= {path.relative_to("/"): path for path in libraries(tools)}
    facts = [version, INIT, NVME, hashlib.sha1(POOL).hexdigest(), [path.name for path in modules]]
    facts += [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in sorted([*files.values(), *modules])]
    stamp = json.dumps(facts)
    made, stamped = cache / "initramfs.cpio", cache / "initramfs.json"
    if made.exists() and stamped.exists() and stamped.read_text() == stamp:
        return image, made
    stamped.unlink(missing_ok=True)
    root = cache / "root"
    shutil.rmtree(root, ignore_errors=True)
    for place, path in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / place)
    (root / "modules").mkdir()
    for path in modules:
        data = path.read_bytes()
        (root / "modules" / path.name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
    settings = {path.name: NVME if path.name.startswith("nvme-core.") else "" for path in modules}
    (root / "order").write_text("".join(f"{name} {words}\n" for name, words in settings.items()))
    (root / "pool").write_bytes(POOL)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    pack(tools["cpio"], root, made)
    stamped.write_text(stamp)
    shutil.rmtree(root)
    return image, made


def pack(cpio: str, root: Path, made: Path) -> None:
    """Writes a folder as the archive that a kernel unpacks; to decompress it would take a guest longer than to read it."""
    names = "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*")))
    command = [cpio, "-o", "-H", "newc", "--quiet", "-R", "0:0"]
    ended = subprocess.run(
        command, cwd=root, input=names.encode(), capture_output=True, timeout=SECONDS_MAX, check=False
    )
    if ended.returncode:
        raise FailureError(f"cpio ended with {ended.returncode}: {ended.stderr.decode().strip()}")
    made.write_bytes(ended.stdout)


class Wane:
    """The command, and the folder of the drives that it makes."""

    def __init__(self, binary: Path, folder: Path, logs: Path) -> None:
        self.binary, self.folder, self.logs = binary, folder, logs

    def call(self, *words: object) -> str:
        """What the command prints."""
        return output_of([self.binary, *words], cwd=self.folder)

    def create(self, name: str, *words: str) -> None:
        """Makes a drive that is fit to be served."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.call("drive", "create", name, "--for", "serve", "--quiet", *words)


class Served:
    """A drive while it is served. Its name is the serial number of the guest's disk."""

    def __init__(self, wane: Wane, name: str, sockets: Path) -> None:
        self.wane, self.name = wane, name
        command = [wane.binary, "serve", name, "--json", "--quiet", "--until-stdin-ends", "--speed", "max"]
        command += ["--dir", sockets / name]
        with (wane.logs / f"serve-{name}.log").open("a") as log:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, cwd=wane.folder, stdin=pipe, stdout=pipe, stderr=log, text=True)
        self.socket = self.control = None

    def listen(self) -> None:
        """Waits until it is served."""
        line = self.process.stdout.readline()
        if not line:
            raise FailureError(
                f"`wane serve {self.name}` ended with {self.process.wait()}; its log is serve-{self.name}.log"
            )
        told = json.loads(line)
        self.socket, self.control = told["socket"], told["control"]

    def block(self) -> str:
        """What QEMU reads and writes."""
        # QEMU takes two commas for one of the path.
        path = self.socket.replace(",", ",,")
        return f"driver=nbd,server.type=unix,server.path={path},discard=unmap,cache=none"

    def record(self) -> dict:
        """What the drive knows of its health."""
        return json.loads(self.wane.call("ctl", self.control, "smart"))["wane"]["record"]

    def stop(self) -> None:
        """Ends it cleanly, so that the drive is saved."""
        self.process.stdin.close()
        if self.process.wait(SECONDS_MAX):
            raise FailureError(
                f"`wane serve {self.name}` ended with {self.process.returncode}; its log is serve-{self.name}.log"
            )

    def kill(self) -> None:
        """Ends it as the system does, without a word."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Ends what still runs, whatever happened."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


class Image:
    """A file as a disk. What the guest writes to it goes to a file of QEMU's own, which ends with the guest."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def block(self) -> str:
        """What QEMU reads."""
        path = str(self.path).replace(",", ",,")
        return f"driver=raw,file.driver=file,file.filename={path},snapshot=on"


class Guest:
    """A guest that runs a script on disks, and what it has told so far."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log, self.said, self.lines = log, [], queue.Queue()
        with log.with_suffix(".qemu.log").open("w") as errors:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, text=True, errors="replace"
            )
        # Who waits for a line must be able to give up.
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Hands over the guest's lines, and at its end nothing. A line that is cut off by the end is none."""
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.lines.put(line.split())
        self.lines.put(None)

    def send(self, text: str) -> None:
        """Types into the guest's second port."""
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def go(self) -> None:
        """Lets a script go on that pauses."""
        self.send("go\n")

    def next(self) -> list[str] | None:
        """The words of its next line; nothing at its end."""
        try:
            line = self.lines.get(timeout=SECONDS_MAX)
        except queue.Empty:
            raise FailureError(f"the guest has said nothing for {SECONDS_MAX} seconds") from None
        if line:
            self.said.append(line)
        return line

    def until(self, *words: str) -> list[str]:
        """Waits for a line that begins with these words, and returns its others."""
        while (line := self.next()) is not None:
            if line[: len(words)] == list(words):
                return line[len(words) :]
            if line[:1] == ["failed"]:
                raise FailureError(f"the guest's script ended with {line[1]} before it said `{' '.join(words)}`")
        raise FailureError(f"the guest ended before it said `{' '.join(words)}`")

    def all(self, *words: str) -> list[list[str]]:
        """What it has said so far beginning with these words, without them."""
        return [line[len(words) :] for line in self.said if line[: len(words)] == list(words)]

    def finish(self) -> None:
        """Waits until it has done its work and switched itself off."""
        self.until("done")
        self.process.wait(SECONDS_MAX)

    def kill(self) -> None:
        """Ends it by SIGKILL, and takes note of what it had said."""
        self.end()
        while self.next() is not None:
            pass

    def end(self) -> None:
        """Ends it if it still runs."""
        self.process.kill()
        self.process.wait()


class Machine:
    """What makes guests and served drives, and ends all of them at its own end."""

    def __init__(self, tools: dict[str, str], image: Path, initramfs: Path, wane: Wane) -> None:
        self.tools, self.image, self.initramfs, self.wane = tools, image, initramfs, wane
        self.stack, self.log, self.sockets = contextlib.ExitStack(), None, None

    def __enter__(self) -> "Machine":
        """Itself, with a place for sockets, whose paths must be short."""
        self.sockets = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="guest-test-")))
        return self

    def __exit__(self, *_: object) -> None:
        """Ends every process that it started, the last one first, whoever else is impatient."""
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        self.stack.close()
        for number, handler in before.items():
            signal.signal(number, handler)

    def serve(self, *names: str) -> list[Served]:
        """Serves drives."""
        drives = [Served(self.wane, name, self.sockets) for name in names]
        for drive in drives:
            self.stack.callback(drive.end)
        for drive in drives:
            drive.listen()
        return drives

    def boot(self, name: str, drives: Sequence[Served | Image], script: str) -> Guest:
        """Starts a guest with these disks."""
        self.log = self.wane.logs / f"{name}.log"
        command = [
            self.tools["qemu-system-x86_64"],
            "-accel",
            "tcg,thread=multi",
            "-smp",
            "2",
            "-cpu",
            "max",
            "-m",
            "768",
        ]
        command += ["-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{self.log}", "-serial", "stdio"]
        command += ["-kernel", str(self.image), "-initrd", str(self.initramfs)]
        command += ["-append", KERNEL]
        for number, drive in enumerate(drives):
            command += ["-drive", f"{drive.block()},if=none,id=d{number},werror=report,rerror=report"]
            block = "logical_block_size=4096,physical_block_size=4096"
            command += ["-device", f"nvme,drive=d{number},serial={drive.name},{block}"]
        guest = Guest(command, self.log)
        self.stack.callback(guest.end)
        guest.until("ready")
        guest.send(f"{LIBRARY}\n{script}\nsay done\nEND-OF-SCRIPT\n")
        return guest

    def tail(self, lines: int) -> str:
        """The end of the last guest's log, and of what QEMU has said."""
        logs = [(self.log, lines), (self.log.with_suffix(".qemu.log"), 3)]
        return "\n".join(
            line for log, most in logs if log.exists() for line in log.read_text(errors="replace").splitlines()[-most:]
        )
