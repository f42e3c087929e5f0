# The front door. `make demo` and `make test` need nothing but this tree, make and a Debian 12.
SHELL := /bin/bash
# Debian's programs, which scripts/setup installs, before those that a person keeps: another python3 in front (pyenv's
# takes ten times as long to start) lacks Debian's modules.
export PATH := /usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$(PATH)
# What was compiled in one copy of the tree serves another (mutants, a clone): paths count from the tree.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_PCH_EXTSUM := 1
# The compiler says what it read: no second run of the preprocessor for each file that is new.
export CCACHE_DEPEND := 1
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup-%
setup-%:
	@scripts/setup $(subst +, ,$*)

build/%/build.ninja: CMakeLists.txt CMakePresets.json cmake/*.cmake
	@cmake --preset $* >build-$*.log 2>&1 && rm build-$*.log || { cat build-$*.log; rm build-$*.log; exit 1; }

# What is shipped, with the optimiser; the tests are compiled without it and linked against the same
# objects, so that every check below runs what ships.
.PHONY: build
build: setup-build+test build/release/build.ninja ## Build what is shipped, the simulator and the tests (build/release)
	@echo "building (build/release)"
	@scripts/build build/release $(JOBS)

# Only what it runs, as quickly as a compiler can.
.PHONY: demo
demo: setup-build+demo build/demo/build.ninja ## A simulated DGX A100 drawn by `partita status`, then a container with one of its slices
	@echo "building (build/demo)"
	@scripts/build build/demo $(JOBS) demo
	@scripts/demo build/demo

.PHONY: test
test: build check-format ## Every unit, integration and command-line test
	@scripts/check-layers
	@scripts/check-names
	@scripts/check-listed build/release
	@scripts/run-tests build/release $(JOBS)

.PHONY: release
release: setup-build build/release/build.ninja ## The programs that are shipped, and their manual (build/release/bin)
	@scripts/build build/release $(JOBS) shipped
	@scripts/check-release build/release/bin/partita
	@scripts/check-hook build/release/bin/partita-hook

PREFIX ?= /usr
.PHONY: install
install: release ## Install the release build below PREFIX (/usr), for packages below DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build/release --strip --prefix "$(PREFIX)"

.PHONY: uninstall
uninstall: ## Remove what the last `make install` put below DESTDIR
	@scripts/uninstall build/release "$(DESTDIR)"

.PHONY: deb
deb: setup-deb release ## The Debian package of what `make install` installs (build/deb), judged by lintian
	@scripts/package-deb build/release build/deb

.PHONY: image
image: release ## The OCI image of the programs that are shipped (build/image/partita.tar), made without a container engine
	@scripts/package-image build/release build/image/partita.tar

.PHONY: check-deb
check-deb: deb ## The package installed, used, upgraded, removed and purged in fresh Debian 12 roots
	@tests/package/run --package build/deb --build build/release

.PHONY: containers
containers: build setup-containers+e2e ## Real container engines on a simulated node: what is inside their containers
	@tests/containers/run --build build/release

.PHONY: compat
compat: build setup-compat ## NVIDIA's own programs judge the simulator and what partita did to it
	@compat/run --build build/release

.PHONY: programs
programs: setup-compat setup-e2e ## Build the programs of others that compat and e2e run, once, into ~/.cache/partita
	@compat/run --print-programs
	@e2e/e2e build

.PHONY: e2e
e2e: build setup-e2e ## A real Kubernetes with simulated GPU nodes, and the scenarios on it
	@e2e/e2e run --build build/release --lanes 2 $(if $(CI),--again 2) $(addprefix --only ,$(E2E_ONLY)) $(E2E_PATHS)

.PHONY: cluster
cluster: setup-build+e2e build/release/build.ninja ## A real Kubernetes with simulated GPU nodes that partita serves, and a shell in it (CLUSTER_COMMAND='kubectl get nodes')
	@scripts/build build/release $(JOBS) demo
	@e2e/e2e cluster --build build/release $(if $(CLUSTER_COMMAND),--command '$(subst ','\'',$(CLUSTER_COMMAND))')

# Sanitizers make long tests many times longer: a tenth of each there, but in `make nightly`.
SHARE = PARTITA_TEST_SHARE=$${PARTITA_TEST_SHARE:-10}

.PHONY: asan
asan: setup-build+test+sanitize build/asan/build.ninja ## Tests under the address and undefined-behaviour sanitizers
	@scripts/build build/asan $(JOBS)
	@$(SHARE) scripts/run-tests build/asan $(JOBS) -L "^sanitized$$"

.PHONY: asan-all
asan-all: asan ## The same, and the tests that CI leaves out
	@$(SHARE) scripts/run-tests build/asan $(JOBS) -L sanitized-nightly

.PHONY: tsan
tsan: setup-build+test+sanitize build/tsan/build.ninja ## What has threads, under the thread sanitizer
	@scripts/build build/tsan $(JOBS) thread_tests
	@$(SHARE) scripts/run-tests build/tsan $(JOBS) -L threads

.PHONY: tsan-all
tsan-all: setup-build+test+sanitize build/tsan/build.ninja ## Every test that sanitizers can judge, under the thread sanitizer
	@scripts/build build/tsan $(JOBS)
	@$(SHARE) scripts/run-tests build/tsan $(JOBS) -L sanitized

.PHONY: soak
soak: build ## 16 processes killed at random (SOAK_SECONDS, default 60), then an apply at its every call
	@tests/torture/soak --build build/release --seconds $(or $(SOAK_SECONDS),60)

.PHONY: rest
rest: build ## The agent on a simulated DGX with faults, then at rest (REST_SECONDS, default 60): memory, wake-ups, truth
	@tests/torture/agent-rest --build build/release --seconds $(or $(REST_SECONDS),60)

.PHONY: random
random: build ## Random operations and faults on the agent as a device plugin (RANDOM_SECONDS, default 60): who has what, memory
	@tests/torture/agent-random --build build/release --seconds $(or $(RANDOM_SECONDS),60)

.PHONY: mutants
mutants: setup-build+test ## Conditions of the product changed one by one: does a test notice? (MUTANTS='--tenth 3')
	@tests/mutants/run --jobs $(JOBS) $(MUTANTS)

.PHONY: bench
bench: setup-build+bench+compat build/bench/build.ninja ## Figures, each beside the same work by NVIDIA's programs
	@scripts/build build/bench $(JOBS)
	@bench/run --build build/bench

.PHONY: fuzz
fuzz: setup-build+fuzz build/fuzz/build.ninja ## Every fuzzer for FUZZ_SECONDS (default 30); FUZZ_SHARE=n: every n-th
	@scripts/fuzz build/fuzz $(JOBS) $(or $(FUZZ_SECONDS),30) $(FUZZ_SHARE)

.PHONY: format
format: setup-format ## clang-format on every C++ file
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

.PHONY: check-format
check-format: setup-format ## Fails where clang-format would change a file
	@git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror

.PHONY: tidy
tidy: setup-build+test+bench+tidy build/tidy/build.ninja ## clang-tidy, newest changes first (TIDY_SINCE=COMMIT: only those; TIDY_SECONDS=N: no scan begins later)
	@ninja -C build/tidy build.ninja >/dev/null
	@scripts/tidy build/tidy $(JOBS) $(addprefix --since ,$(TIDY_SINCE)) $(addprefix --seconds ,$(TIDY_SECONDS))

# Slow and rarely red. CI runs a part of each (.ci/run); CONTRIBUTING.md says which.
.PHONY: nightly
nightly: ## Hours: all under sanitizers, long soak, a day, random operations and a rest of the agent, fuzzing, ten cluster cycles, every mutant, tidy
	@PARTITA_TEST_SHARE=1 $(MAKE) asan-all tsan-all
	@$(MAKE) soak SOAK_SECONDS=600
	@PARTITA_TEST_SEED=$$(date +%s) PARTITA_TEST_OPERATIONS=100000 \
	  build/release/bin/partita_ledger_disk_test --gtest_filter='RandomLedger.*'
	@PARTITA_TEST_SEED=$$(date +%s) PARTITA_TEST_FAULTS=1000 build/release/bin/partita_day_test
	@build/release/bin/torture-hook-race --hook build/release/bin/partita-hook --tries 10000
	@$(MAKE) rest REST_SECONDS=1200
	@$(MAKE) random RANDOM_SECONDS=1200
	@$(MAKE) fuzz FUZZ_SECONDS=300
	@PARTITA_COMPAT_ALL=1 $(MAKE) compat
	@PARTITA_E2E_CYCLES=10 $(MAKE) e2e E2E_ONLY=cycles
	@PARTITA_E2E_KILLS=200 $(MAKE) e2e E2E_ONLY=killed-server
	@$(MAKE) e2e E2E_PATHS=e2e/scenarios/nightly
	@$(MAKE) cluster CLUSTER_COMMAND='scripts/check-session README.md'
	@CI=true scripts/in-fresh-debian make test
	@$(MAKE) mutants
	@$(MAKE) tidy

.PHONY: clean
clean: ## Remove build/
	@rm -rf build
