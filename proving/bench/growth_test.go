package main

import "testing"

// TestGrowthClasses checks the classes of costs, and that a cost that gets a class worse is
// noticed.
func TestGrowthClasses(t *testing.T) {
	small := growthCost{bytes: 100_000, allocations: 1000}
	for _, c := range []struct {
		large growthCost
		want  class
	}{
		{growthCost{110_000, 1010}, constant},
		{growthCost{100_000, 1000}, constant},
		{growthCost{250_000, 1100}, logarithmic},
		{growthCost{100_000, 2500}, logarithmic},
		{growthCost{800_000, 1000}, linear},
		{growthCost{100_000, 8000}, linear},
		{growthCost{6_400_000, 1000}, worse},
	} {
		if got := classOf(c.large.against(small)); got != c.want {
			t.Errorf("%+v is %s, want %s", c.large, got, c.want)
		}
	}
	// Reading one block more is no growth.
	if got := classOf(growthCost{4096, 20}.against(growthCost{0, 0})); got != constant {
		t.Errorf("a block is %s", got)
	}
	if !exceeds([4]class{constant, linear}, [4]class{linear, logarithmic}) || exceeds([4]class{constant, linear}, [4]class{linear, linear}) {
		t.Error("classes are compared wrongly")
	}
}
