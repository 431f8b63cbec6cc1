package basetest

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestSeed(t *testing.T) {
	t.Setenv(SeedVariable, "")
	t.Setenv("CI", "true")
	if a, b := Seed(t), Seed(t); a != b {
		t.Errorf("in CI the seeds are %d and %d", a, b)
	}
	t.Setenv("CI", "")
	if a, b := Seed(t), Seed(t); a == b {
		t.Errorf("two seeds are both %d", a)
	}
	t.Setenv(SeedVariable, "18446744073709551615")
	if seed := Seed(t); seed != 1<<64-1 {
		t.Errorf("the seed is %d", seed)
	}
	for _, bad := range []string{"x", "-1", "18446744073709551616"} {
		t.Setenv(SeedVariable, bad)
		if f := (&fake{TB: t}); !f.fails(func() { Seed(f) }) {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, asked := time.Now(), 0
		Eventually(t, "it was asked three times", func() bool { asked++; return asked == 3 })
		if asked != 3 {
			t.Errorf("the model was called %d times", asked)
		}
		f := &fake{TB: t}
		if !f.fails(func() { Eventually(f, "the end", func() bool { return false }) }) || time.Since(begun) < Limit {
			t.Errorf("failed after %v: %v", time.Since(begun), f.failed)
		}
	})
}

// fake is a test that is expected to fail.
type fake struct {
	testing.TB
	failed bool
}

func (f *fake) Helper() {}

func (f *fake) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}

// fails reports whether a function failed the test.
func (f *fake) fails(do func()) (failed bool) {
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		failed = f.failed
	}()
	do()
	return f.failed
}

func TestRandomHasItsSeed(t *testing.T) {
	t.Setenv(SeedVariable, "7")
	a, b := Random(t), NewRandom(7)
	for range 100 {
		if x, y := a.IntN(1000), b.IntN(1000); x != y {
			t.Fatalf("drew %d and %d", x, y)
		}
	}
}

func TestFreePorts(t *testing.T) {
	first, second := FreePorts(t, 50), FreePorts(t, 50)
	taken := make(map[int]bool)
	for _, port := range append(first, second...) {
		if taken[port] || port < firstPort || port >= lastPort {
			t.Errorf("port %d is returned, the others are %v and %v", port, first, second)
		}
		taken[port] = true
	}
	for range 2 { // a server that is started again
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first[0]))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if c, err := net.Dial("tcp", DeadAddress(t)); err == nil {
		t.Errorf("%s listens", c.RemoteAddr())
		c.Close()
	}
}
