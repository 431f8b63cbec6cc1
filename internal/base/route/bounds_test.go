package route_test

import (
	"fmt"
	"slices"
	"testing"

	"firn.dev/internal/base/route"

	"pgregory.net/rapid"
)

func TestBounds(t *testing.T) {
	cases := []struct {
		name       string
		bounds     route.Bounds
		agent, key string
		want       bool
	}{
		{"zero", route.Bounds{}, "main", "agent:main:main", false},
		{"everything", route.Everything(), "main", "", true},
		{"no lists", route.BoundTo(nil, nil), "main", "", true},
		{"its agent", route.BoundTo([]string{"work"}, nil), "work", "", true},
		{"another agent", route.BoundTo([]string{"work"}, nil), "main", "agent:main:main", false},
		{"its key", route.BoundTo(nil, []string{"agent:main:a"}), "main", "agent:main:a", true},
		{"below its key", route.BoundTo(nil, []string{"agent:main:a"}), "main", "agent:main:a:b", true},
		{"a key that only begins so", route.BoundTo(nil, []string{"agent:main:a"}), "main", "agent:main:ab", false},
		{"above its key", route.BoundTo(nil, []string{"agent:main:a:b"}), "main", "agent:main:a", false},
		{"no key", route.BoundTo(nil, []string{"agent:main:a"}), "main", "", false},
		{"its key of another agent", route.BoundTo([]string{"work"}, []string{"agent:main:a"}), "main", "agent:main:a", false},
	}
	for _, c := range cases {
		if got := c.bounds.Admits(c.agent, c.key); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestBoundsAnd checks that the intersection of two bounds admits exactly what both of them
// admit, for every agent and key.
func TestBoundsAnd(t *testing.T) {
	agents := []string{"main", "work"}
	var keys []string
	for _, a := range agents {
		for _, rest := range []string{"main", "x", "x:y", "x:y:z", "xy"} {
			keys = append(keys, fmt.Sprintf("agent:%s:%s", a, rest))
		}
	}
	bounds := rapid.Custom(func(t *rapid.T) route.Bounds {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return route.Bounds{}
		case 1:
			return route.Everything()
		}
		return route.BoundTo(rapid.SliceOfNDistinct(rapid.SampledFrom(agents), 0, 2, rapid.ID).Draw(t, "agents"),
			rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(keys), "agent:main", "agent:work")), 0, 3).Draw(t, "keys"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := bounds.Draw(t, "a"), bounds.Draw(t, "b")
		both := a.And(b)
		for _, agent := range agents {
			for _, key := range append(slices.Clone(keys), "") {
				if got, want := both.Admits(agent, key), a.Admits(agent, key) && b.Admits(agent, key); got != want {
					t.Fatalf("%v and %v: %s %s: %v", a, b, agent, key, got)
				}
			}
		}
		if both.Unbounded() != (a.Unbounded() && b.Unbounded()) {
			t.Fatalf("%v and %v: unbounded", a, b)
		}
	})
}
