package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// A check compares a few figures with earlier ones, which are stored in the repository. All
// are counts, or ratios of times within one run, and lower is better, so that they hardly
// depend on the speed and load of the machine.

// tolerance is the permitted ratio of a figure to the earlier one.
const tolerance = 1.2

// moreTries is the number of repetitions for a figure that is too high.
const moreTries = 4

// measure is a named figure and the function that measures it.
type measure struct {
	name string
	take func(*bench) (figure, error)
}

// figure is a quantity and its reference. Noise only increases either of them, so the lowest
// of several attempts is used, separately for each.
type figure struct{ got, per float64 }

func (f figure) value() float64 { return f.got / f.per }

func (f figure) lower(g figure) figure { return figure{min(f.got, g.got), min(f.per, g.per)} }

// past holds earlier figures by name.
type past struct {
	// About describes the machine on which they were measured.
	About   string             `json:"about"`
	Figures map[string]float64 `json:"figures"`
}

// check measures all figures and compares them with a file, or with update writes them to it.
// It fails with the names of the figures that exceed the tolerance.
func (b *bench) check(file string, measures []measure, update bool, out io.Writer) error {
	before := past{Figures: make(map[string]float64)}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &before)
	}
	if err != nil && !(update && errors.Is(err, os.ErrNotExist)) {
		return fmt.Errorf("read the previous figures: %w", err)
	}
	now := past{About: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()), Figures: make(map[string]float64)}
	for _, m := range measures {
		limit, known := before.Figures[m.name]
		got, err := b.lowest(m, limit*tolerance, update || !known)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		now.Figures[m.name] = got
		fmt.Fprintf(out, "%-4s %-66s %10.2f   was %.2f\n", verdict(got, limit, known), m.name, got, limit)
	}
	if update {
		data, err := json.MarshalIndent(now, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(file, append(data, '\n'), 0o644)
	}
	return compare(before.Figures, now.Figures)
}

// lowest repeats a measurement until it is low enough, or a limited number of times.
func (b *bench) lowest(m measure, enough float64, always bool) (float64, error) {
	got, err := m.take(b)
	for i := 0; i < moreTries && err == nil && (always || got.value() > enough); i++ {
		var again figure
		again, err = m.take(b)
		got = got.lower(again)
	}
	return got.value(), err
}

func verdict(got, before float64, known bool) string {
	switch {
	case !known:
		return "new"
	case got > before*tolerance:
		return "BAD"
	}
	return "ok"
}

// compare returns an error with the figures that are worse or cannot be compared.
func compare(before, now map[string]float64) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, ok := before[name]
		switch got := now[name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s was never taken before: make check-bench UPDATE=1 notes it", name))
		case got > was*tolerance:
			wrong = append(wrong, fmt.Sprintf("%s is %.2f and was %.2f: %.0f %% worse", name, got, was, 100*(got/was-1)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is not taken any more: make check-bench UPDATE=1 forgets it", name))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
