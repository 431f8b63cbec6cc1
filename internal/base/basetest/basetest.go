// Package basetest helps to write tests that do not fail by chance: it prints and sets
// random seeds, and waits for events with a timeout that only ends a hang.
package basetest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Limit is the longest time that a test waits for an event that takes milliseconds on an
// idle machine. It is long enough for a busy machine: a test that reaches it hangs.
const Limit = 5 * time.Minute

// SeedVariable is the environment variable that sets the seed of random tests.
const SeedVariable = "FIRN_SEED"

// Seed returns the seed of a random test: the value of FIRN_SEED, or one of the test's name
// if CI is set, so that a run does not depend on chance, or a different one in each run.
// If the test fails, it prints the seed and how to reuse it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if os.Getenv("CI") != "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t.Name())) // cannot fail
		seed = h.Sum64()
	}
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%s: %v", SeedVariable, text, err)
		}
	}
	t.Logf("seed %d (%s=%d runs it again)", seed, SeedVariable, seed)
	return seed
}

// Eventually waits until a condition holds, and fails the test if it does not within Limit.
// The condition is checked in the goroutine of the caller.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s waiting until %s", Limit, what)
		}
	}
}
