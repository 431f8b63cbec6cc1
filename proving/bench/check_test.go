package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checked checks two figures, one of them real, against a file with earlier figures.
func checked(t *testing.T, before map[string]float64, other func(*bench) (figure, error)) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "baseline.json")
	data, err := json.Marshal(past{Figures: before})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	b := &bench{dir: t.TempDir()}
	err = b.check(file, []measure{{"decode", decodeAllocs}, {"other", other}}, false, &out)
	return out.String(), err
}

// TestCheckFails checks that figures beyond the tolerance are reported, and others are not.
func TestCheckFails(t *testing.T) {
	ten := func(*bench) (figure, error) { return figure{10, 1}, nil }
	for name, c := range map[string]struct {
		before map[string]float64
		want   string // empty: no error
	}{
		"as before":          {map[string]float64{"decode": 20, "other": 10}, ""},
		"a little worse":     {map[string]float64{"decode": 18, "other": 9}, ""},
		"better":             {map[string]float64{"decode": 100, "other": 100}, ""},
		"a real one worse":   {map[string]float64{"decode": 10, "other": 10}, "decode is 20.00 and was 10.00: 100 % worse"},
		"another worse":      {map[string]float64{"decode": 20, "other": 8}, "other is 10.00 and was 8.00: 25 % worse"},
		"never taken":        {map[string]float64{"decode": 20}, "other was never taken before"},
		"not taken any more": {map[string]float64{"decode": 20, "other": 10, "third": 1}, "third is not taken any more"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := checked(t, c.before, ten)
			if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want && !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("the check returned %v, want %q\n%s", err, c.want, out)
			}
		})
	}
	if _, err := checked(t, nil, func(*bench) (figure, error) { return figure{}, errors.New("no") }); err == nil || err.Error() != "other: no" {
		t.Errorf("a figure that cannot be measured: %v", err)
	}
}

// TestCheckTriesAgain checks that temporary noise is not an error.
func TestCheckTriesAgain(t *testing.T) {
	tries := 0
	_, err := checked(t, map[string]float64{"decode": 20, "other": 10}, func(*bench) (figure, error) {
		tries++
		return figure{60 - 20*float64(min(tries, 2)), 4 - float64(min(tries, 2))}, nil
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestBaseline checks that the file in the repository contains exactly the existing
// figures.
func TestBaseline(t *testing.T) {
	data, err := os.ReadFile("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	var before past
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	if err := compare(before.Figures, before.Figures); err != nil {
		t.Error(err)
	}
	all := measures()
	if len(all) != len(before.Figures) {
		t.Errorf("there are %d figures, and %d in the file", len(all), len(before.Figures))
	}
	for _, m := range all {
		if before.Figures[m.name] <= 0 {
			t.Errorf("%q is not in the file", m.name)
		}
	}
}
