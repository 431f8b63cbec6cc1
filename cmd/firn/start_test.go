package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Limits of the work that packages do before main. They are counts and do not depend on the
// machine. A package of firn that exceeds them probably compiles patterns or fills tables
// that most commands never use: see package pattern, and sync.OnceValue.
const (
	mostStartAllocs = 250
	mostStartBytes  = 24 << 10
	// mostFirnAllocs and mostFirnBytes limit all packages of firn together, mostAllocs and
	// mostBytes those of other modules too, without those that only tests use.
	mostFirnAllocs = 1500
	mostFirnBytes  = 192 << 10
	mostAllocs     = 12_000
	mostBytes      = 1800 << 10
)

// initLine matches a line about the initialization of a package.
var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs$`)

// TestStartDoesLittle checks how much memory packages allocate when the program starts,
// whatever the command is.
func TestStartDoesLittle(t *testing.T) {
	cmd := exec.Command("firn", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "HOME="+t.TempDir())
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	var firn, all struct{ bytes, allocs, packages int }
	for _, m := range initLine.FindAllStringSubmatch(trace.String(), -1) {
		name := m[1]
		bytes, _ := strconv.Atoi(m[2])  // matched by \d+
		allocs, _ := strconv.Atoi(m[3]) // matched by \d+
		if isTestPackage(name) {
			continue
		}
		all.bytes, all.allocs, all.packages = all.bytes+bytes, all.allocs+allocs, all.packages+1
		if !strings.HasPrefix(name, "firn.dev") {
			continue
		}
		firn.bytes, firn.allocs, firn.packages = firn.bytes+bytes, firn.allocs+allocs, firn.packages+1
		if allocs > mostStartAllocs || bytes > mostStartBytes {
			t.Errorf("%s makes %d allocations of %d bytes before main, the limits are %d and %d", name, allocs, bytes, mostStartAllocs, mostStartBytes)
		}
	}
	if firn.packages < 10 || all.packages < 50 {
		t.Fatalf("%d packages are traced, %d of them of firn:\n%s", all.packages, firn.packages, trace.String())
	}
	if firn.allocs > mostFirnAllocs || firn.bytes > mostFirnBytes {
		t.Errorf("packages of firn make %d allocations of %d bytes before main, the limits are %d and %d", firn.allocs, firn.bytes, mostFirnAllocs, mostFirnBytes)
	}
	if all.allocs > mostAllocs || all.bytes > mostBytes {
		t.Errorf("all packages make %d allocations of %d bytes before main, the limits are %d and %d", all.allocs, all.bytes, mostAllocs, mostBytes)
	}
	t.Logf("firn: %d allocations, %d bytes in %d packages; all: %d, %d in %d", firn.allocs, firn.bytes, firn.packages, all.allocs, all.bytes, all.packages)
}

// isTestPackage reports whether only tests use a package.
func isTestPackage(name string) bool {
	for _, prefix := range []string{"testing", "internal/testlog", "github.com/rogpeppe/go-internal", "pgregory.net/rapid", "github.com/google/go-cmp", "github.com/chromedp", "github.com/gobwas"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "firn.dev/cmd/firn" || strings.HasSuffix(name, "test") // the tests of this package are part of it
}
