package main

import (
	"slices"
	"testing"
)

// TestJudgedSet checks that IDs are unique, that every answer exists, and that both halves
// have enough questions of every kind.
func TestJudgedSet(t *testing.T) {
	kinds := []string{"fact", "when", "decision", "preference", "identifier", "who", "latest", "none"}
	seen := make(map[string]bool)
	total := 0
	for _, half := range halves {
		set, err := judgedHalf(half)
		if err != nil {
			t.Fatal(err)
		}
		of := make(map[string]int)
		fixtures := slices.ContainsFunc(set.Talk, func(s spoken) bool { return s.Fixture != "" })
		for _, line := range set.Talk {
			if line.ID == "" {
				continue
			}
			if seen[line.ID] {
				t.Errorf("there are two messages %s", line.ID)
			}
			seen[line.ID] = !line.Noise
		}
		for _, q := range set.Questions {
			of[q.Kind]++
			if seen[q.ID] || !slices.Contains(kinds, q.Kind) || (q.Kind == "none") != (len(q.Answers) == 0) {
				t.Errorf("question %s is not sound", q.ID)
			}
			seen[q.ID] = true
			for _, id := range slices.Concat(q.Answers...) {
				if _, ours := seen[id]; ours && !seen[id] || !ours && !fixtures {
					t.Errorf("question %s: %s does not answer it", q.ID, id)
				}
			}
		}
		for _, kind := range kinds {
			if of[kind] < 4 {
				t.Errorf("%s has %d questions of kind %s", half, of[kind], kind)
			}
		}
		total += len(set.Questions)
	}
	if total < 120 {
		t.Errorf("there are only %d questions", total)
	}
}

// TestRecall checks that search finds more than plain BM25 in both halves.
func TestRecall(t *testing.T) {
	found, err := measureRecall(t.Context(), t.TempDir(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range halves {
		ours, theirs := found[half][wayOurs].all, found[half][wayPlain].all
		t.Logf("%s: search %s; plain BM25 %s", half, &ours, &theirs)
		if ours.at(5) <= theirs.at(5) || ours.at(10) <= theirs.at(10) {
			t.Errorf("%s: search finds no more than plain BM25: %s and %s", half, &ours, &theirs)
		}
	}
}

// TestMarks checks the computation of recall and rank.
func TestMarks(t *testing.T) {
	m := &marks{kinds: make(map[string]*mark)}
	m.add(question{Kind: "fact", Answers: [][]string{{"a", "b"}, {"c"}}}, [][]string{{"x"}, {"b"}, {"y"}})
	m.add(question{Kind: "fact", Answers: [][]string{{"d"}}}, [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"d"}})
	m.add(question{Kind: "none"}, nil)
	if got := m.all.String(); got != "@5 0.250, @10 0.750, MRR 0.333" {
		t.Errorf("got %s", got)
	}
	if m.silent.quiet != 1 || m.silent.n != 1 || len(m.missed) != 2 {
		t.Errorf("silent %+v, missed %d", m.silent, len(m.missed))
	}
}
