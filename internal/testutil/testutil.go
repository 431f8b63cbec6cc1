// Package testutil holds what keeps tests from failing by chance: a seed that is
// printed and can be set, and waiting for an event with a limit that only ends a hang.
package testutil

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Limit is the longest time a test waits for something that happens in milliseconds on
// a quiet machine. It must not depend on how busy a machine is: a test that runs into
// it hangs.
const Limit = 5 * time.Minute

// SeedVariable is the environment variable that sets the seed of random tests.
const SeedVariable = "FIRN_SEED"

// Seed returns the seed of a random test: the value of FIRN_SEED, or another one in each
// run. It is printed if the test fails, together with how to use it again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%s: %v", SeedVariable, text, err)
		}
	}
	t.Logf("seed %d (%s=%d runs it again)", seed, SeedVariable, seed)
	return seed
}

// Eventually waits until a condition holds, and fails the test if it does not within
// Limit. The condition is checked in the goroutine of the caller.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited %s in vain until %s", Limit, what)
		}
	}
}
