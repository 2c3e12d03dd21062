# wane: `make demo` and `make test` are all one needs; `make help` lists the rest.

CARGO ?= cargo
RUST_MINIMUM := 1.90

.PHONY: help demo test lint bench doc claims install tools

help: ## List the targets
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

tools:
	@command -v $(CARGO) >/dev/null || { echo "make: cargo is missing; install a stable Rust toolchain with rustup (https://rustup.rs)" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "make: a C compiler is missing; install gcc or clang with your system's packages" >&2; exit 2; }
	@version=$$(rustc --version | cut -d' ' -f2); lowest=$$(printf '%s\n%s\n' $(RUST_MINIMUM) "$$version" | sort -V | head -n 1); \
	  [ "$$lowest" = "$(RUST_MINIMUM)" ] || { echo "make: rustc $$version is too old; $(RUST_MINIMUM) is needed: rustup update stable" >&2; exit 2; }

demo: tools ## Build, age one drive three ways under a recorded trace, and say where the report lies
	@$(CARGO) run --release --locked -q -p wane-cli --bin wane -- demo --out out/demo

test: tools ## Run all tests; WANE_TEST_DATA names a folder of real traces
	$(CARGO) test --workspace --locked

lint: tools ## Check formatting and lints; warnings are errors
	@$(CARGO) fmt --version >/dev/null 2>&1 || { echo "make: rustfmt is missing; rustup component add rustfmt" >&2; exit 2; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || { echo "make: clippy is missing; rustup component add clippy" >&2; exit 2; }
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

bench: tools ## Measure the write path against the machine's own ceiling: one JSON object a line
	$(CARGO) bench --locked -p wane-ftl --bench write_path -- 8g 256g

claims: tools ## Run every published claim and write docs/claims.md
	$(CARGO) run --release --locked -q -p wane-cli --bin wane -- reproduce --write docs/claims.md --figures out/claims

doc: tools ## Build the book into book/ and the API documentation into target/doc
	mkdir -p docs/src/generated
	$(CARGO) run --locked -q -p wane-cli --bin wane -- manual > docs/src/generated/manual.md
	$(CARGO) run --locked -q -p wane-cli --bin wane -- policies --pages > docs/src/generated/policies.md
	cp docs/claims.md docs/src/generated/claims.md
	@command -v mdbook >/dev/null || [ -x target/tools/bin/mdbook ] || $(CARGO) install mdbook --locked --root target/tools
	PATH="$$PATH:target/tools/bin" mdbook build docs
	$(CARGO) doc --workspace --locked --no-deps

install: tools ## Install the wane command
	$(CARGO) install --locked --path crates/cli
