# wane: `make demo` and `make test` are all one needs; `make help` lists the rest.

CARGO ?= cargo
PYTHON ?= python3
RUST_MINIMUM := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
WANE := $(CARGO) run --release --locked -q -p wane-cli --bin wane --
# The command as `make test` builds it. A test among what is built gives third-party crates the features that they have in the tests (cargo unites
# them over all that it builds), so that nothing is compiled twice; `endurance` is a small one.
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEVELOPMENT := $(CARGO) build --workspace --locked --bin wane --test endurance
WANE_DEVELOPMENT := $(TARGET)/debug/wane
MDBOOK_ROOT := target/tools

.DEFAULT_GOAL := help
.PHONY: help build demo test test-python live-test guest-test fs-test torture docs-check lint fuzz bench compare claims validate doc book api install dist toolchain python

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1@/' | awk -F@ '{ printf "%-20s%s\n", $$1, $$2 }'

toolchain:
	@command -v $(CARGO) >/dev/null || { echo "make: cargo is missing; install a stable Rust toolchain with rustup from https://rustup.rs" >&2; exit 2; }
	@command -v rustc >/dev/null || { echo "make: rustc is missing; install a stable Rust toolchain with rustup from https://rustup.rs" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "make: a C compiler (cc) is missing; install gcc or clang, on Debian: apt-get install gcc libc6-dev" >&2; exit 2; }
	@rustc --version | awk -v least=$(RUST_MINIMUM) '{ split($$2, have, "."); split(least, want, "."); \
	  if (have[1] * 1000 + have[2] < want[1] * 1000 + want[2]) { \
	    print "make: rustc " $$2 " is too old, " least " is needed: rustup update stable" > "/dev/stderr"; exit 2 } }'

python:
	@command -v $(PYTHON) >/dev/null || { echo "make: python3 is missing; on Debian: apt-get install python3" >&2; exit 2; }

build: toolchain ## Build the command as the tests do: target/debug/wane
	@$(DEVELOPMENT)

demo: build ## Build the command, age one drive three ways under a recorded trace, and say where the report lies
	@$(WANE_DEVELOPMENT) demo --out out/demo

test: toolchain python ## Run all tests, of Rust and of the Python package; WANE_TEST_DATA names a folder of real traces, BESIDE goals to make meanwhile
	@[ -n "$$WANE_TEST_DATA" ] || echo "make: WANE_TEST_DATA is not set: the tests on real traces are skipped, and say so"
	@PYTHON=$(PYTHON) CARGO=$(CARGO) tools/test $(BESIDE)

test-python: toolchain python ## Build the Python package into .venv and run its tests alone
	@PYTHON=$(PYTHON) tools/test-python

live-test: toolchain ## Run served drives under file systems, SQLite and PostgreSQL with ten power cuts each, some minutes; needs root and says what is missing
	WANE_LIVE=full $(CARGO) test --locked -p wane-cli --test live -- --nocapture --test-threads 1

guest-test: build python ## Run drives as the NVMe disks of a QEMU guest: F2FS, XFS, a RAID-5 that repairs what wear destroyed, md that reads our arrays; minutes, says what is missing
	$(CARGO) build --locked -p wane-raid --example member_images
	@WANE=$(WANE_DEVELOPMENT) $(PYTHON) tools/guest-test

fs-test: build python ## Run pjdfstest, fsx and programs that are installed on a mount of wane's file system; needs root, and says what is missing
	@WANE=$(WANE_DEVELOPMENT) $(PYTHON) tools/fs-test

torture: toolchain ## Cut the power of random drives twelve million times, some minutes
	WANE_CUTS=10000000 $(CARGO) test --locked -p wane-testkit --test crash -- --nocapture
	WANE_ARRAY_SEEDS=2000 $(CARGO) test --locked -p wane-raid --test away -- --nocapture
	WANE_FS_SEEDS=200 WANE_FS_IMAGES=10000 WANE_FS_ACE=all $(CARGO) test --locked -p wane-fs --test ace --test checksums --test crash --test damage --test edits --test lives --test space -- --nocapture

docs-check: toolchain ## Run every command of the README and the book, slow ones too, and hold their figures to what comes out
	WANE_DOCS=all $(CARGO) test --locked -p wane-cli --test docs

lint: toolchain ## Check formatting and lints; warnings are errors
	@$(CARGO) fmt --version >/dev/null 2>&1 || { echo "make: rustfmt is missing: rustup component add rustfmt" >&2; exit 2; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || { echo "make: clippy is missing: rustup component add clippy" >&2; exit 2; }
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@why=$$(PYTHON=$(PYTHON) tools/python-env) || { status=$$?; [ $$status = 3 ] || exit $$status; \
	    echo "make: the Python package is not linted: $$why"; exit 0; }; \
	  set -ex; .venv/bin/ruff format --check --quiet; .venv/bin/ruff check --quiet; .venv/bin/mypy

bench: toolchain ## Measure aging beside a bare loop on the same machine, then schedulers and timed runs, about four minutes; one JSON object a line
	$(CARGO) bench --locked -p wane-ftl --bench write_path -- 8g 256g
	$(CARGO) bench --locked -p wane-ssd --bench scheduler
	$(CARGO) bench --locked -p wane-ssd --bench drive
	$(CARGO) bench --locked -p wane-ssd --bench kept
	$(CARGO) bench --locked -p wane-ssd --bench payload
	$(CARGO) bench --locked -p wane-ssd --bench device
	$(CARGO) bench --locked -p wane-raid --bench aging
	$(CARGO) bench --locked -p wane-raid --bench index
	$(CARGO) bench --locked -p wane-lab --bench timed
	$(CARGO) bench --locked -p wane-blockdev --bench requests
	$(CARGO) bench --locked -p wane-workload --bench draws
	$(CARGO) bench --locked -p wane-actor --bench codec

compare: toolchain python ## Measure how fast kept drives are opened by this build and by another, the command OLD=PATH, some minutes
	@[ -n "$(OLD)" ] || { echo "make: OLD names no command of a build before: make compare OLD=/path/to/wane" >&2; exit 2; }
	$(CARGO) build --release --locked -p wane-cli --bin wane
	@$(PYTHON) tools/compare $(OLD)

# Claims of fleets are measured by the Python package, of .venv where the tests have made it.
claims: toolchain ## Run every published claim, an hour or more on two cores, and write docs/claims.md; goes on where it was ended
	export WANE_PYTHON=$${WANE_PYTHON:-$$(ls $(CURDIR)/.venv/bin/python 2>/dev/null || echo $(PYTHON))}; $(WANE) reproduce --write docs/claims.md --figures out/claims --runs out/claims-runs

# The build of the tests, whose hot crates are optimized: it is there already, and the page is the same by any.
validate: toolchain ## Hold the engine against independent code and write docs/validation.md, about half an hour; CHECK=1 says whether it is current
	$(CARGO) run --locked -q -p wane-validation --bin validate -- $(if $(CHECK),--check,--write) docs/validation.md

fuzz: toolchain ## Compile the fuzz targets, on stable Rust; their files say how to run them
	cd fuzz && $(CARGO) check --locked --no-default-features --target-dir ../target

doc: book api ## Build the book into book/ and the API documentation into target/doc

book: build ## Build the book alone; installs mdbook into target/tools where it is missing
	@command -v mdbook >/dev/null || [ -x $(MDBOOK_ROOT)/bin/mdbook ] || $(CARGO) install mdbook --locked --root $(MDBOOK_ROOT)
	@[ -f docs/claims.md ] || { echo "make: docs/claims.md is missing; make claims writes it" >&2; exit 2; }
	@[ -f docs/validation.md ] || { echo "make: docs/validation.md is missing; make validate writes it" >&2; exit 2; }
	@mkdir -p docs/src/generated
	$(WANE_DEVELOPMENT) manual > docs/src/generated/manual.md
	$(WANE_DEVELOPMENT) manual --schema > docs/src/generated/scenario.schema.json
	$(WANE_DEVELOPMENT) policies --pages > docs/src/generated/policies.md
	cp docs/claims.md docs/src/generated/claims.md
	cp docs/validation.md docs/src/generated/validation.md
	PATH="$$PATH:$(MDBOOK_ROOT)/bin" mdbook build docs

api: toolchain ## Build the API documentation alone; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

install: toolchain ## Install the wane command with cargo; tells how man pages and completion are had
	$(CARGO) install --locked --path crates/doors/cli
	@echo "man pages:  wane man --out ~/.local/share/man/man1"
	@echo "completion: echo 'source <(wane completions bash)' >> ~/.bashrc; wane completions --help has other shells"

dist: toolchain python ## Make what a release consists of below dist/: a static binary, the Python wheel, the source, checksums
	@PYTHON=$(PYTHON) CARGO=$(CARGO) tools/dist
