package meaning_test

import (
	"slices"
	"testing"

	"firn.dev/internal/find/meaning"
	"firn.dev/internal/find/search"
)

func stem(word string) string { return search.Tokens(word)[0].Term }

func find(t *testing.T, table *meaning.Table, word string) meaning.Word {
	t.Helper()
	w, ok := table.Find(stem(word))
	if !ok {
		t.Fatalf("the table does not have %s", word)
	}
	return w
}

// TestSimilarity compares words of the built-in table.
func TestSimilarity(t *testing.T) {
	table := meaning.Builtin()
	for _, c := range []struct{ word, near, far string }{
		{"car", "truck", "cheese"},
		{"doctor", "hospital", "guitar"},
		{"apartment", "house", "violin"},
		{"bug", "software", "wedding"},
		{"happy", "glad", "steel"},
		{"paint", "canvas", "tax"},
	} {
		w := find(t, table, c.word)
		near, far := table.Similarity(w, find(t, table, c.near)), table.Similarity(w, find(t, table, c.far))
		if near < far+0.2 {
			t.Errorf("%s is similar to %s by %.2f, to %s by %.2f", c.word, c.near, near, c.far, far)
		}
		if self := table.Similarity(w, w); self < 0.97 || self > 1.03 {
			t.Errorf("%s is similar to itself by %.2f", c.word, self)
		}
	}
	if _, ok := table.Find("qzxqzx"); ok {
		t.Error("the table has a word that does not exist")
	}
}

// TestNear compares Near with a comparison of all words.
func TestNear(t *testing.T) {
	table := meaning.Builtin()
	missed, all := 0, 0
	for _, word := range []string{"car", "doctor", "kitchen", "database", "train", "music", "lawyer", "garden"} {
		w := find(t, table, word)
		near := table.Near(w, 1000, 0.6)
		for other := range meaning.Word(table.Len()) {
			if other == w || table.Similarity(w, other) < 0.6 {
				continue
			}
			if all++; !slices.ContainsFunc(near, func(n meaning.Similar) bool { return n.Word == other }) {
				missed++
			}
		}
		for i := 1; i < len(near); i++ {
			if near[i].Similarity > near[i-1].Similarity {
				t.Errorf("the words near %s are not in order", word)
			}
		}
	}
	if all == 0 || missed*20 > all {
		t.Errorf("%d of %d similar words were missed", missed, all)
	}
}

// TestTopic compares texts as a whole.
func TestTopic(t *testing.T) {
	table := meaning.Builtin()
	topic := func(words ...string) *meaning.Topic {
		var all []meaning.Word
		for _, w := range words {
			all = append(all, find(t, table, w))
		}
		return table.Topic(all)
	}
	cooking, soup, rail := topic("cook", "dinner", "recipe"), topic("boil", "soup", "onion"), topic("train", "station", "ticket")
	if cooking.Similarity(soup) < cooking.Similarity(rail)+0.2 {
		t.Errorf("cooking is similar to soup by %.2f, to trains by %.2f", cooking.Similarity(soup), cooking.Similarity(rail))
	}
	if topic().Similarity(soup) != 0 {
		t.Error("an empty text is similar to soup")
	}
}

// FuzzParse reads damaged tables.
func FuzzParse(f *testing.F) {
	small := string(meaning.Append(nil, []string{"a", "bc", "d"}, []byte{1, 2, 3}, [][]int8{{1, 2}, {-3, 4}, {5, -6}}))
	if t, err := meaning.Parse(small); err != nil || t.Len() != 3 || t.Text(1) != "bc" {
		f.Fatalf("a small table: %v", err)
	}
	f.Add(small)
	f.Add(small[:len(small)-1])
	f.Add("firnwv1\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, data string) {
		table, err := meaning.Parse(data)
		if err != nil {
			return
		}
		for w := range meaning.Word(table.Len()) {
			if got, ok := table.Find(table.Text(w)); !ok || got != w {
				t.Fatalf("word %d is found as %d, %v", w, got, ok)
			}
			table.Near(w, 3, 0.5)
			table.Topic([]meaning.Word{w})
		}
	})
}
