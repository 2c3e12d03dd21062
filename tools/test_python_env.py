"""The environment of the Python tests after other builds in the same checkout: `python3 -m unittest discover tools`."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("python-env")

MATURIN = """#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" != --out ] || out=$2
  shift
done
mkdir -p "$out"
touch "$out/wane-0.2.0-cp311-abi3-manylinux_2_34_x86_64.whl"
"""
PIP = """#!/bin/sh
echo "$@" >installed
"""


class Wheel(unittest.TestCase):
    def test_the_wheel_of_the_tests_is_installed_alone_whatever_other_builds_left(self):
        with tempfile.TemporaryDirectory() as folder:
            checkout = pathlib.Path(folder)
            left = ["target/wheels/wane-0.1.0-cp311-abi3-linux_x86_64.whl", "target/test-wheel/wane-0.1.0-cp311-abi3-linux_x86_64.whl"]
            for path in [*left, "tools/python-env", ".venv/bin/maturin", ".venv/bin/pip"]:
                (checkout / path).parent.mkdir(parents=True, exist_ok=True)
                (checkout / path).touch(mode=0o755)
            shutil.copy(SCRIPT, checkout / "tools")
            (checkout / ".venv/bin/maturin").write_text(MATURIN)
            (checkout / ".venv/bin/pip").write_text(PIP)
            subprocess.run([checkout / "tools/python-env", "--wheel"], check=True)
            wheels = [word for word in (checkout / "installed").read_text().split() if word.endswith(".whl")]
            self.assertEqual([pathlib.Path(wheel).name for wheel in wheels], ["wane-0.2.0-cp311-abi3-manylinux_2_34_x86_64.whl"])


if __name__ == "__main__":
    unittest.main()
