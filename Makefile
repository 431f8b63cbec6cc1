# firn: `make` builds it, `make run` talks to it, `make test` proves it.
#
#   make build   bin/firn
#   make run     build, then open a chat on the offline model (firn chat)
#   make demo    build, then walk the whole story once (firn demo)
#   make quick   the tests that need no browser, cluster or other program, in about a minute
#   make test    install what the tests need, then run them all
#   make interop-all  hand every session to every tool, OpenClaw too (installs 1.3 GB, takes an hour)
#   make flakes  the same N=20 times in a row, and which tests failed (LOAD=8 busy processes beside it, RACE=1)
#   make check   format, vet, other systems, staticcheck, race detector, known holes
#   make bench   measure, and print the ratios that count
#   make check-bench  fail if a figure is a fifth worse than it was
#   make bench-peers  the same work by firn and by its neighbours, side by side
#   make fuzz    every fuzz target for FUZZTIME each
#   make soak    the kill -9 tests, KILLS times over
#   make soak-cluster  three gateways on three servers, killed and with flipped bytes, for SOAK=1h
#   make soak-hour  one gateway under mixed load and faults, for SOAK=1h (soak-short: each fault once)
#   make promise a session of 10 GB, killed on a full disk in a tool call and in a compaction, and what is promised of it
#   make web     bundle the pages anew, after a change in internal/door/webui/src
#   make docs    write anew what is written from the code: docs/cli.md, api.md, configuration.md
#   make release archives for six systems below dist/, with checksums and lists of modules
#   make words   how each package reads, and how many names it exports
#   make fmt     format
#   make help    this list

SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c

GO ?= go
# Tools have a module of their own, so that what they need stays out of ours.
TOOL := $(GO) tool -modfile=tools/go.mod
# The CI passes -count=1 and more here; at home the test cache is welcome.
TESTFLAGS ?=
# Time limit of one package. No package needs a tenth of it on a quiet machine: it ends
# a test that hangs, and says nothing about how fast a machine is.
TIMEOUT ?= 45m
N ?= 20
LOAD ?= 0
FUZZTIME ?= 30s
KILLS ?= 2000
SOAK ?= 1h
PROMISE ?= 10000
BENCHFLAGS ?=

.DEFAULT_GOAL := build
.PHONY: build run demo help quick words test interop-all flakes check bench check-bench bench-peers fuzz soak soak-cluster soak-short soak-hour promise fmt setup web check-web
.PHONY: check-format check-vet check-release check-static check-race race check-holes release docs

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

# Left out are packages whose tests start browsers, servers or other programs, and tests
# that kill processes or cut files everywhere. PACKAGES=./store/... tests only those.
SLOW := cmd/firn webtest interop bench soak store/jetstream internal/ops/cluster internal/ops/serve
quick:
	@$(GO) test -short -skip 'Kill|Cut|Power|Failure|Systems|Rename|Fuzz' $(TESTFLAGS) $(or $(PACKAGES),$$($(GO) list ./... | grep -v $(SLOW:%=-e /%$$))) | grep -v 'no test files'

words:
	@cd tools && $(GO) run ./words ..

# Some packages mostly wait, for browsers and for elections: one more than there are
# processors runs at a time. Those that take a minute and more begin first, so that none
# of them is waited for alone. The SDKs of the providers have a module of their own too,
# which is slow to compile the first time.
LONGEST := ./cmd/firn ./internal/door/webui/webtest ./proving/interop ./store/filestore ./store/jetstream
test: setup
	$(GO) test -p $$(($$(nproc 2>/dev/null || echo 2) + 1)) -timeout $(TIMEOUT) $(TESTFLAGS) $(LONGEST) ./...
	cd proving/interop/sdk && $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...

# All tools and all sessions; make test tries those that differ most. Every start of OpenClaw
# takes about fifteen seconds of a processor.
interop-all:
	@tools/setup.sh all
	FIRN_INTEROP=all $(GO) test -timeout 4h -count=1 $(TESTFLAGS) ./proving/interop

# Fails if any test failed in any of the runs, and names it.
flakes:
	@tools/flakes.sh $(N) --load $(LOAD) $(if $(RACE),--race)

# Cheap checks first: a missing space should not cost a race run.
check: check-format check-vet check-release check-static check-web check-race check-holes

check-format:
	@tools/format.sh

check-vet:
	$(GO) vet ./...

# All programs of a release are built, the one of this machine twice, and tried alone in
# an empty root. COLD=1 builds it the second time without the cache.
check-release:
	@GO="$(GO)" tools/check-release.sh

check-static:
	$(TOOL) staticcheck ./...

# With -short the heaviest tests do fewer rounds; none is left out. Only packages
# in which something runs side by side: elsewhere there is nothing to find.
# Not what measures, nor what tries other programs, nor what turns text into HTML or looks
# for secrets, all in one goroutine, nor the command, whose every start the detector makes
# slow: what it is made of runs here. Left out of them is what reads the sources, and long
# proofs and measurements in which one thing is done after the other.
RACELESS := bench soak interop webtest richtext mask cmd/firn internal/term/demo internal/ops/cluster internal/ops/serve
ONEBYONE := Systems|SystemsFindsFaults|Architecture|PowerCut.*|KillWriters|DropAnyRecord|FirstPageIsFlat|ForkOfALongSession|HundredNights|ForgetALargeNote|FailureAtEveryCall|PurgeLeavesNothing|SealLarge|LongSession|LostServers|Cluster|CutAnywhereIsReadInSteps|ReadersThatDoNotRead|ALongLineIsReadOnce|LinesOverTheLimit|ModelThatHangs
check-race: setup
	CGO_ENABLED=1 GOFLAGS= $(GO) test -race -short -timeout $(TIMEOUT) -skip '^Test($(ONEBYONE))$$' $(TESTFLAGS) $$(GO="$(GO)" tools/concurrent.sh | grep -v $(RACELESS:%=-e /%$$))

# The same with all packages and all rounds, for a machine that has the time.
race: setup
	CGO_ENABLED=1 GOFLAGS= $(GO) test -race -timeout 4h $(TESTFLAGS) $$(GO="$(GO)" tools/concurrent.sh)

check-holes:
	@GO="$(GO)" tools/holes.sh

# The benchmarks of single packages come first, so that what is printed last is one
# table of targets and results; BENCHFLAGS=-h tells what that takes. What firn grep is
# held against is ripgrep.
bench:
	@command -v rg >/dev/null || apt-get install -y -qq ripgrep >/dev/null || echo "bench: without ripgrep one target is missed" >&2
	$(GO) test ./... -run '^$$' -bench . -benchmem -timeout $(TIMEOUT) | grep -v -e 'no test files' -e '^PASS'
	$(GO) run ./proving/bench $(BENCHFLAGS)

# Installs the neighbours with npm, and lets them and firn do the same work in turns.
bench-peers: setup
	$(GO) run ./proving/bench -peers proving/interop/node_modules $(BENCHFLAGS)

# A few figures that hardly depend on the machine, held against those in the
# repository: more than a fifth worse fails. UPDATE=1 notes those of now.
check-bench:
	$(GO) run ./proving/bench -check proving/bench/baseline.json $(if $(UPDATE),-update)

fuzz:
	@GO="$(GO)" tools/fuzz.sh $(FUZZTIME)

soak:
	FIRN_KILLS=$(KILLS) $(GO) test ./... -run Kill -count=1 -timeout 4h

# One server is damaged at a time, and healed as docs/cluster.md says. FIRN_SEED repeats a run.
soak-cluster:
	FIRN_SOAK=$(SOAK) $(GO) test ./internal/ops/cluster -run TestSoakCluster -count=1 -v -timeout 24h

# These need Linux, and root to mount a small disk; SOAKFLAGS=-h tells what it takes.
soak-short:
	$(GO) test -tags soak ./proving/soak -run TestSoak -count=1 -timeout $(TIMEOUT)

soak-hour:
	$(GO) run ./proving/soak -for $(SOAK) $(SOAKFLAGS)

# What firn is for, as one story, on a session of PROMISE megabytes.
promise:
	$(GO) run ./proving/soak -promise $(PROMISE) $(SOAKFLAGS)

# The bundle of the pages is committed, so that firn builds with Go alone. To
# make it anew takes npm, for Preact and for the checker of types.
WEB := internal/door/webui
ESBUILD = $(TOOL) esbuild --bundle --minify --format=esm --target=es2022,chrome120,firefox120,safari17.5 \
	--jsx=automatic --jsx-import-source=preact --legal-comments=none --charset=utf8 --log-level=warning \
	--banner:js="/* sources $$(cd $(WEB) && find src -type f | LC_ALL=C sort | xargs cat package-lock.json | sha256sum | cut -c1-64) */"

$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	cd $(WEB) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web: $(WEB)/node_modules/.package-lock.json
	$(GO) test ./$(WEB) -run TestTypesAreThoseOfTheDescription -update-types
	$(ESBUILD) app=$(WEB)/src/main.tsx --outdir=$(WEB)/dist
	cp $(WEB)/src/index.html $(WEB)/src/icon.svg $(WEB)/dist/

# Types first, then that the committed bundle is what the sources give.
check-web: $(WEB)/node_modules/.package-lock.json
	$(WEB)/node_modules/.bin/tsc -p $(WEB)
	@t=$$(mktemp -d) && trap 'rm -rf "$$t"' EXIT && \
	$(ESBUILD) app=$(WEB)/src/main.tsx --outdir=$$t && \
	cp $(WEB)/src/index.html $(WEB)/src/icon.svg $$t/ && \
	diff -rq $$t $(WEB)/dist || { echo "internal/door/webui/dist is not what the sources give: run make web" >&2; exit 1; }

# What of the documents is written from the code. Tests say when it is out of date.
docs:
	FIRN_UPDATE=1 $(GO) test ./internal/ops/config ./internal/term/cli -run TestDocs -count=1
	FIRN_UPDATE=1 $(GO) test . -run TestAPIPage -count=1

release:
	@GO="$(GO)" tools/release.sh

fmt:
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')
