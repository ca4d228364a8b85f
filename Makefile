# Targets for a newcomer. `make` alone lists them; cargo and tools/ do the work.

.DEFAULT_GOAL := help
SHELL := /bin/bash
PREFIX ?= /usr/local
.SHELLFLAGS := -euo pipefail -c
SCRIPTS := $(wildcard tools/*.sh) .ci/run

.PHONY: help demo build install test test-vm check audit bench bench-trace bench-page bench-workloads bench-locks bench-mark bench-overlap stress-overlap judge-shake accuracy exam validate-models study-kernel generate install-deps clean cargo

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## Build, and measure the scaling of a built-in program here (under 3 minutes after the build)
	@tools/demo.sh

build: cargo install-deps ## Build in release mode, into target/release
	@cargo build --release --locked

# Does not build: root may have no toolchain on its PATH, and a user cannot rebuild what root built.
# Installs the programs, man pages, completions and the lock library for C.
install: ## Install the built programs, documents and C library below PREFIX (/usr/local)
	@[ -x target/release/morecores ] || { echo "nothing is built yet: run make build first, not as root" >&2; exit 2; }
	@DESTDIR=$(DESTDIR) tools/install-locks.sh target/release $(PREFIX)
	@install -D -t $(DESTDIR)$(PREFIX)/bin target/release/morecores $(addprefix target/release/morecores-,lock-cell locks overlap shake tune-spin work)
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/*.1
	@install -D -m 644 docs/completions/morecores.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/morecores
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions docs/completions/_morecores
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d docs/completions/morecores.fish
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	@sed 's|@PREFIX@|$(PREFIX)|' docs/systemd/morecores-mark.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/morecores-mark.service

# Installs packages only if it can; see CONTRIBUTING.md.
test: cargo ## Install the tests' packages and run all tests (SKIP=browser,servers leaves groups out)
	@SKIP='$(SKIP)' tools/test.sh

test-vm: build ## Test on another kernel, emulated: only cgroup version 2, 4 CPUs, hotplug (1 minute)
	@tools/install-deps.sh vm-test
	@tools/vm-test.sh

check: cargo install-deps ## Check formatting, lints, prose and the links of the documentation
	@cargo fmt --check
	@tools/check-prose.sh
	@cargo clippy --workspace --all-targets --locked -- -D warnings
	@cargo clippy -p morecores --no-default-features --all-targets --locked -- -D warnings
	@RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	@if command -v shellcheck >/dev/null; then shellcheck $(SCRIPTS); \
	else echo 'skipped: shellcheck: not installed; install it with: tools/install-deps.sh check'; fi

audit: cargo install-deps ## Audit the dependencies against deny.toml, offline
	@tools/audit.sh

# Runs hyperfine in the same session for comparison.
bench: build ## Measure the cost of measuring and of predicting (6 minutes, quiet machine)
	@tools/install-deps.sh bench
	@cargo bench --locked -p morecores --bench hyperfine
	@tools/bench-memory.sh
	@cargo bench --locked -p morecores --bench predict -- speed
	@cargo bench --locked -p morecores --bench predict -- memory

# Runs perf in the same session for comparison.
bench-trace: build ## Measure the cost of tracing (40 minutes, quiet machine, root; ONLY=short for one part)
	@tools/install-deps.sh bench-trace kernel-study
	@tools/kernel-part.sh prepare
	@cargo bench --locked -p morecores --bench trace $(if $(ONLY),-- $(ONLY))

# Times the opening of a page and the panning of its timeline.
bench-page: build ## Measure the speed of a report page (1 minute, quiet machine)
	@tools/install-deps.sh browser
	@tools/viewer.sh install
	@tools/bench-page.sh

bench-overlap: build ## Compare `morecores overlap -- make` with `make -j2` on seven projects (40 minutes, quiet machine; ROUNDS=12, COST_ROUNDS=40, ONLY=zlib)
	@tools/install-deps.sh kernel-study bench-overlap
	@ROUNDS='$(ROUNDS)' COST_ROUNDS='$(COST_ROUNDS)' ONLY='$(ONLY)' tools/bench-overlap.sh

# Ends with status 1 if a correct program failed.
judge-shake: cargo install-deps ## Judge the verdicts of `morecores shake` on programs with a known fault (2 hours, quiet machine; JUDGEMENTS=30, PLAIN=3000, TWIN=2000, ONLY=dekker)
	@tools/install-deps.sh shake judge-shake
	@JUDGEMENTS='$(or $(JUDGEMENTS),30)' PLAIN='$(or $(PLAIN),3000)' TWIN='$(or $(TWIN),2000)' ONLY='$(ONLY)' cargo bench -q --locked -p morecores-shake --bench judge

# Ends with status 1 if any run under overlap has another result than the serial build.
stress-overlap: cargo install-deps ## Compare results of `morecores overlap` with serial ones, many times (30 minutes; RUNS=100, ONLY=script)
	@RUNS='$(or $(RUNS),100)' ONLY='$(ONLY)' cargo bench -q --locked -p morecores-overlap --bench stress

# The other libraries run in one session with the workloads: OpenBLAS, OpenCV, rayon and wrk.
bench-workloads: build ## Compare the workloads with libraries (15 minutes, quiet machine; ONLY=matmul for one part)
	@tools/install-deps.sh bench-workloads
	@cargo bench --locked -p morecores-workloads --bench workloads $(if $(ONLY),-- $(ONLY))
	@$(if $(filter-out web,$(ONLY)),true,cargo bench --locked -p morecores-workloads --bench web)

# The locks run in one session with those of std, parking_lot and the C library.
bench-locks: build ## Compare the locks with other libraries' (11 minutes, quiet machine; STUDY=DIR keeps the study)
	@cargo bench --locked -p morecores --bench locks

bench-mark: build ## Measure the cost of `morecores mark --enforce` (1 minute, quiet machine, root; ROUNDS=40)
	@$(if $(ROUNDS),ROUNDS='$(ROUNDS)') cargo bench --locked -p morecores --bench mark

# Also tests the programs and clocks that serve as the reference.
accuracy: build ## Test traces against known truth (22 minutes, quiet machine, root; ACCURACY=FILE keeps the table)
	@tools/install-deps.sh accuracy kernel-study
	@cargo bench --locked -p morecores-lock-cell --bench accuracy
	@cargo bench --locked -p morecores-accuracy --bench programs
	@cargo bench --locked -p morecores-measure --bench estimators
	@tools/kernel-part.sh prepare
	@target/release/morecores-accuracy judge --kernel-part tools/kernel-part.sh $(if $(ACCURACY),--markdown $(ACCURACY))

# The truth: real commands of Debian packages, crates/predict/exam/programs.toml. The studies stay
# in .bench/exam (STUDIES=DIR); the next call evaluates them without measuring again.
exam: build ## Examine predictions of 80 real commands (1 hour, quiet machine, root; FROM=1 TO=2; ONLY=zstd for one)
	@tools/install-deps.sh exam
	@cargo bench --locked -p morecores --bench exam

# The truth: published measurements, and simulated programs of which none was used for tuning.
validate-models: build ## Test predictions against published and simulated truth (some minutes)
	@cargo test --locked -q -p morecores-predict --test models_published -- --nocapture
	@cargo bench --locked -p morecores --bench predict -- scoring

study-kernel: build ## Study a kernel build, into studies/ (40 minutes on 2 CPUs, quiet machine, root for hotplug)
	@tools/install-deps.sh kernel-study
	@tools/study-kernel.sh

generate: cargo install-deps ## Generate docs/reference.md, man pages, completions and the viewer from their sources
	@cargo run -q --locked -p morecores -- generate markdown docs
	@cargo run -q --locked -p morecores -- generate man docs/man
	@cargo run -q --locked -p morecores -- generate completions docs/completions
	@tools/install-deps.sh viewer
	@tools/viewer.sh generate

install-deps: ## Install the Debian packages for building, through sudo if not root
	@tools/install-deps.sh build

clean: ## Remove all built, downloaded and unpacked files; studies stay
	@rm -rf target .bench

cargo:
	@[ "$$(uname -sm)" = 'Linux x86_64' ] || { echo "morecores supports Linux on x86-64 only, and this is $$(uname -sm)" >&2; exit 2; }
	@command -v cargo >/dev/null || { echo 'There is no cargo. Install Rust from https://rustup.rs, then try again.' >&2; exit 2; }
