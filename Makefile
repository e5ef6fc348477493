# Needs Go and make, nothing else; `make help` says what there is.

GO ?= go

# No package's tests take minutes; the limit is there so that a hang ends with
# every goroutine's stack instead of with somebody's patience.
TEST_TIMEOUT ?= 5m

# How long the fault campaign runs; 10m makes some 2000 kills on two quiet CPUs.
DURATION ?= 1m

# How long each fuzz target runs.
FUZZTIME ?= 30s

# The race detector cannot see mapped memory, so it is for the packages whose
# tests have ranks in one process. Those that start processes are left out.
RACE_SKIP := /cmd/|/examples/|/(bench|docs)$$|/internal/(launch|soak)$$

.PHONY: help
help: ## say what the targets do
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build every package, and the commands into bin/
	$(GO) build ./...
	$(GO) build -o bin/ ./cmd/... ./examples/...

# Where the static shmrun goes.
STATIC ?= bin/static

.PHONY: static
static: ## a shmrun that needs no library of the machine it runs on, into bin/static
	CGO_ENABLED=0 $(GO) build -trimpath -o $(STATIC)/ ./cmd/shmrun

.PHONY: run
run: ## count the words of Go's own source on all CPUs
	$(GO) build -o bin/ ./cmd/shmrun ./examples/wordcount
	bin/shmrun bin/wordcount "$$($(GO) env GOROOT)/src"

.PHONY: test
test: ## all tests, a slice of the fault campaign, then those of one process under the race detector
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) ./...
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) -tags symwinfail ./internal/failpoint ./internal/soak
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) -tags symwindebug -run 'Found|AnyPattern|EveryWait' ./lla2a
	@$(MAKE) --no-print-directory race

.PHONY: race
race: ## the in-process tests under the race detector, where there is a C compiler
	@cc=$$($(GO) env CC); \
	if [ "$$($(GO) env CGO_ENABLED)" != 1 ] || ! command -v "$${cc%% *}" >/dev/null; then \
		echo "race: skipped, the race detector needs a C compiler (Debian: apt-get install gcc libc6-dev)"; \
	else \
		packages=$$($(GO) list ./... | grep -Ev '$(RACE_SKIP)'); \
		echo "$(GO) test -race -count=1 -timeout $(TEST_TIMEOUT)" $$packages; \
		$(GO) test -race -count=1 -timeout $(TEST_TIMEOUT) $$packages; \
	fi

# qemu runs what another processor would, but in the order of this one: it shows
# that the arm64 code does its work, not that its ordering is right.
ARM64 := epoch internal/line sync lla2a

.PHONY: arm64
arm64: ## the in-process tests of the protocols for arm64, where there is qemu-aarch64
	@if ! command -v qemu-aarch64 >/dev/null; then \
		echo "arm64: skipped, there is no qemu-aarch64 (Debian: apt-get install qemu-user)"; \
	else \
		set -e; bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; \
		for package in $(ARM64); do \
			CGO_ENABLED=0 GOARCH=arm64 $(GO) test -c -o "$$bin/test" ./$$package; \
			echo "qemu-aarch64: $$package"; \
			(cd $$package && qemu-aarch64 "$$bin/test" -test.timeout $(TEST_TIMEOUT) -test.skip 'Process|TestPhase|TestStopped'); \
		done; \
	fi

.PHONY: lint
lint: ## gofmt, go vet (also without assembly) and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "gofmt -w would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags noasm ./...
	$(GO) -C tools build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	bin/staticcheck -tags noasm ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s); new inputs stay in the go tool's cache
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | cut -d' ' -f2); do \
			sh tools/fuzz.sh "$(GO)" $$target $$dir $(FUZZTIME); \
		done; \
	done

.PHONY: soak
soak: ## the fault campaign, DURATION=10m, SEED=1 to repeat one (prints what it found)
	$(GO) build -tags symwinfail -o bin/soak ./internal/soak
	bin/soak -duration $(DURATION) -keep bin $(if $(SEED),-seed $(SEED))

.PHONY: spec
spec: ## check the Promela models and that every mutant of them fails (needs spin, gcc)
	sh spec/run.sh

.PHONY: bench
bench: ## latency, barrier and all-to-all on this machine
	$(GO) build -o bin/ ./cmd/shmrun
	bin/shmrun bench latency
	bin/shmrun bench barrier
	bin/shmrun bench alltoall

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
