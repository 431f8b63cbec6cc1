# firn: `make` builds it, `make run` starts a chat, `make test` runs the tests.
#
#   make build   bin/firn
#   make run     build, then open a chat on the offline model (firn chat)
#   make demo    build, then run the demo (firn demo)
#   make quick   the tests that need no browser, cluster or other program, in 90 seconds
#   make test    install the tests' dependencies, then run all tests
#   make test-all  make test with every combination that it otherwise samples (an hour)
#   make interop-all  hand every session to every tool, OpenClaw too (installs 1.3 GB, takes an hour)
#   make flakes  make test N=20 times, and list the failed tests (LOAD=8 busy processes, RACE=1)
#   make check   format, vet, other systems, staticcheck, race detector, known vulnerabilities
#   make bench   run the benchmarks and print the ratios with targets
#   make check-bench  fail if a figure is more than 20 % worse than recorded
#   make bench-recall DATA=FILE  recall of search on judged conversations, with and without each part
#   make bench-peers  compare firn with other tools on the same tasks
#   make fuzz    every fuzz target for FUZZTIME each
#   make soak    the kill -9 tests, KILLS times
#   make soak-cluster  three gateways on three servers, killed and with flipped bytes, for SOAK=1h
#   make soak-hour  one gateway under mixed load and faults, for SOAK=1h (soak-short: each fault once)
#   make soak-sync  three machines that sync through a full, stalled and damaged disk, killed, for SOAK=1h
#   make promise check the guarantees with a session of 10 GB, killed on a full disk in a tool call and a compaction
#   make web     rebuild the web bundle after a change in internal/door/webui/src
#   make docs    regenerate docs/cli.md, json.md, api.md and configuration.md from the code
#   make site    the documentation as pages with a search, in dist/site; fails on dead links
#   make release release archives and packages for six systems in dist/, with checksums and SBOMs
#   make release-check  build a release for this machine twice, and install it in every way it offers
#   make upgrade FROM=COMMIT  upgrade from an older commit and back, with real data
#   make words   measure the language of comments and the exported names per package
#   make fmt     format
#   make help    this list

SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c

GO ?= go
# Tools are in a separate module, so that their dependencies stay out of the main one.
TOOL := $(GO) tool -modfile=tools/go.mod
# CI passes -count=1 and more here; locally the test cache is used.
TESTFLAGS ?=
# Time limit per package. No package needs a tenth of it on an idle machine: it only ends
# tests that hang.
TIMEOUT ?= 45m
N ?= 20
LOAD ?= 0
FUZZTIME ?= 30s
KILLS ?= 2000
SOAK ?= 1h
PROMISE ?= 10000
BENCHFLAGS ?=

.DEFAULT_GOAL := build
.PHONY: bench-recall build run demo help quick words test test-all interop-all flakes check bench check-bench bench-peers fuzz soak soak-cluster soak-short soak-hour soak-sync promise fmt setup web check-web
.PHONY: site check-format check-vet check-release check-static check-race race check-holes release release-check upgrade docs

build:
	$(GO) build -ldflags "$$(tools/stamp.sh)" -o bin/firn ./cmd/firn

run: build
	@bin/firn chat

demo: build
	@bin/firn demo

setup:
	@tools/setup.sh

help:
	@sed -n 's/^#   make/make/p' Makefile

# Skips packages whose tests start browsers, servers or other programs, and tests that
# kill processes or truncate files at every byte. PACKAGES=./store/... tests only those.
SLOW := cmd/firn webtest interop bench soak store/jetstream internal/ops/cluster internal/ops/serve
quick:
	@$(GO) test -short -skip 'Kill|Cut|Power|Failure|Systems|Rename|Fuzz' $(TESTFLAGS) $(or $(PACKAGES),$$($(GO) list ./... | grep -v $(SLOW:%=-e /%$$))) | grep -v 'no test files'

words:
	@cd tools && $(GO) run ./words ..

# Some packages mostly wait, for browsers and elections, so one more than the number of
# processors runs at a time. Packages that take more than a minute start first, so that
# none of them runs alone at the end. The tests with the providers' SDKs and with an S3
# server are separate modules, which are slow to compile the first time. So is the bridge to
# e-mail, for its dependencies.
LONGEST := ./cmd/firn ./internal/door/webui/webtest ./proving/interop ./store/filestore ./store/jetstream
test: setup
	$(GO) test -p $$(($$(nproc 2>/dev/null || echo 2) + 1)) -timeout $(TIMEOUT) $(TESTFLAGS) $(LONGEST) ./...
	cd proving/interop/sdk && $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...
	cd proving/s3 && $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...
	cd examples/email && $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...

# Every combination that make test only samples: the ways to run the client scripts, the
# widths of accessibility checks, and the cuts of imported files.
test-all:
	FIRN_SCRIPTS=all FIRN_AXE=all FIRN_CUTS=all $(MAKE) test

# All tools with all sessions; make test covers the most different ones. Every start of
# OpenClaw takes about 15 s of CPU time.
interop-all:
	@tools/setup.sh all
	FIRN_INTEROP=all $(GO) test -timeout 4h -count=1 $(TESTFLAGS) ./proving/interop

# Fails if a test failed in any of the runs, and lists it.
flakes:
	@tools/flakes.sh $(N) --load $(LOAD) $(if $(RACE),--race)

# Cheap checks first, so that a formatting error does not cost a race run.
check: check-format check-vet check-release check-static check-web check-race check-holes

check-format:
	@tools/format.sh

check-vet:
	$(GO) vet ./...
	cd examples/email && $(GO) vet ./...

# Builds all programs of a release, and the one for this machine twice, and runs it in an
# empty root. COLD=1 does the second build without the cache.
check-release:
	@GO="$(GO)" tools/check-release.sh

check-static:
	$(TOOL) staticcheck ./...

# With -short the heaviest tests do fewer rounds. Only packages with
# concurrent code are tested, since there are no races elsewhere. Excluded are benchmarks,
# tests of other programs, rendering and secret masking, which use one goroutine, and the
# command, whose starts the detector slows down and whose packages are tested here.
# Skipped are tests that read the sources, and long tests that mostly use one goroutine;
# make race runs all.
RACELESS := bench soak interop webtest richtext mask cmd/firn internal/term/demo internal/ops/cluster internal/ops/serve
ONEBYONE := Systems|SystemsFindsFaults|RenameModule|Flakes.*|Architecture|RandomSealed|SealKeepsEverything|PowerCut.*|KillWriters|DropAnyRecord|FirstPageCostIsConstant|ForkOfALongSession|RepeatedDreamsConverge|ForgetALargeNote|FailureAtEveryCall|PurgeLeavesNothing|SealLarge|LongSession|LostServers|Lag|Cluster|CutAnywhereIsRead|StalledClientsAreBounded|LongLineIsReadOnce|LinesOverTheLimit|ModelThatHangs|IdempotencyKeyOf.*|PurgedRowsThatMoved|QueriesMatchScan|NearestVectors|OtherOwnersDoNotUseUpTheLimit|LiteralSearch|MachineMessage.*|ProgressWithinOneSession|MachinesConverge|ContractSealed|BatchIsNotCopied|GrowthIsBounded
# The longest one starts first, so that it does not run alone at the end.
check-race: setup
	CGO_ENABLED=1 GOFLAGS= $(GO) test -race -short -p $$(($$(nproc 2>/dev/null || echo 2) + 1)) -timeout $(TIMEOUT) -skip '^Test($(ONEBYONE))$$' $(TESTFLAGS) firn.dev/store/jetstream $$(GO="$(GO)" tools/concurrent.sh | grep -v $(RACELESS:%=-e /%$$))

# The same with all packages and all rounds.
race: setup
	CGO_ENABLED=1 GOFLAGS= $(GO) test -race -timeout 4h $(TESTFLAGS) $$(GO="$(GO)" tools/concurrent.sh)

check-holes:
	@GO="$(GO)" tools/holes.sh

# The benchmarks of single packages run first, so that the table of targets and results
# is printed last; BENCHFLAGS=-h lists its flags. firn grep is compared with ripgrep.
bench:
	@command -v rg >/dev/null || apt-get install -y -qq ripgrep >/dev/null || echo "bench: without ripgrep one target is missed" >&2
	$(GO) test ./... -run '^$$' -bench . -benchmem -timeout $(TIMEOUT) | grep -v -e 'no test files' -e '^PASS'
	$(GO) run ./proving/bench $(BENCHFLAGS)

# Installs the other tools with npm, and alternates them with firn on the same tasks.
bench-peers: setup
	$(GO) run ./proving/bench -peers proving/interop/node_modules $(BENCHFLAGS)

# Recall of search on judged conversations (DATA=FILE), with and without each part, and on
# firn's own judged set. MODEL=DIR adds the vectors of a Model2Vec model.
bench-recall:
	$(GO) run ./proving/bench -recall $(DATA) $(if $(MODEL),-model $(MODEL))
	$(GO) run ./proving/bench -only recall

# Compares a few figures that hardly depend on the machine with those in the repository,
# and fails if one is more than 20 % worse. UPDATE=1 records the current ones.
check-bench:
	$(GO) run ./proving/bench -check proving/bench/baseline.json $(if $(UPDATE),-update)

fuzz:
	@GO="$(GO)" tools/fuzz.sh $(FUZZTIME)

soak:
	FIRN_KILLS=$(KILLS) $(GO) test ./... -run Kill -count=1 -timeout 4h

# Damages one server at a time, and repairs it as in docs/cluster.md. FIRN_SEED repeats a run.
soak-cluster:
	FIRN_SOAK=$(SOAK) $(GO) test ./internal/ops/cluster -run TestSoakCluster -count=1 -v -timeout 24h

# These need Linux, and root to mount a small disk; SOAKFLAGS=-h lists the flags.
soak-short:
	$(GO) test -tags soak ./proving/soak -run TestSoak -count=1 -timeout $(TIMEOUT)

soak-hour:
	$(GO) run ./proving/soak -for $(SOAK) $(SOAKFLAGS)

# Afterwards all machines must have every message and note once, and show the same.
soak-sync:
	$(GO) run ./proving/soak -sync -for $(SOAK) $(SOAKFLAGS)

# Checks firn's main guarantees in one scenario with a session of PROMISE megabytes.
promise:
	$(GO) run ./proving/soak -promise $(PROMISE) $(SOAKFLAGS)

# The web bundle is committed, so that firn builds with Go alone. Rebuilding it requires
# npm, for Preact and the type checker.
WEB := internal/door/webui
ESBUILD = $(TOOL) esbuild --bundle --minify --format=esm --target=es2022,chrome120,firefox120,safari17.5 \
	--jsx=automatic --jsx-import-source=preact --legal-comments=none --charset=utf8 --log-level=warning \
	--banner:js="/* sources $$(cd $(WEB) && find src -type f | LC_ALL=C sort | xargs cat package-lock.json | sha256sum | cut -c1-64) */"

$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	cd $(WEB) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web: $(WEB)/node_modules/.package-lock.json
	$(GO) test ./$(WEB) -run TestTypesMatchAPIDescription -update-types
	$(ESBUILD) app=$(WEB)/src/main.tsx maths=$(WEB)/src/maths.ts timeline=$(WEB)/src/timeline/main.tsx --outdir=$(WEB)/dist
	cp $(WEB)/src/index.html $(WEB)/src/icon.svg $(WEB)/dist/

# Checks the types, and that the committed bundle matches the sources.
check-web: $(WEB)/node_modules/.package-lock.json
	$(WEB)/node_modules/.bin/tsc -p $(WEB)
	@t=$$(mktemp -d) && trap 'rm -rf "$$t"' EXIT && \
	$(ESBUILD) app=$(WEB)/src/main.tsx maths=$(WEB)/src/maths.ts timeline=$(WEB)/src/timeline/main.tsx --outdir=$$t && \
	cp $(WEB)/src/index.html $(WEB)/src/icon.svg $$t/ && \
	diff -rq $$t $(WEB)/dist || { echo "internal/door/webui/dist is not what the sources give: run make web" >&2; exit 1; }

# Regenerates documents from the code. Tests fail if they are out of date.
docs:
	FIRN_UPDATE=1 $(GO) test ./internal/ops/config ./internal/term/cli ./internal/formats/dialects -run 'TestDocs|TestFormatPages' -count=1
	FIRN_UPDATE=1 $(GO) test . -run TestAPIPage -count=1
	FIRN_UPDATE=1 $(GO) test ./cmd/firn -run TestStoreInUse/flag -count=1

site:
	@$(GO) run ./cmd/site -out dist/site

release:
	@GO="$(GO)" tools/release.sh

# Compiles nfpm, and installs packages into temporary directories. By hand, before a release.
release-check:
	@GO="$(GO)" tools/check-packages.sh

upgrade:
	@GO="$(GO)" tools/upgrade.sh $(FROM)

fmt:
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')
