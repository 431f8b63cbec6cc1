package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// plain is the baseline for search: BM25 over single messages with lowercased words.
type plain struct {
	docs  []plainDoc
	in    map[string]int
	words int
}

type plainDoc struct {
	session, id string
	count       map[string]int
	words       int
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// add adds a message. The messages of a session must be added in order.
func (p *plain) add(session, id, text string) {
	d := plainDoc{session: session, id: id, count: make(map[string]int)}
	for _, w := range plainWords(text) {
		d.count[w]++
		d.words++
	}
	if p.in == nil {
		p.in = make(map[string]int)
	}
	for w := range d.count {
		p.in[w]++
	}
	p.docs = append(p.docs, d)
	p.words += d.words
}

// search returns the IDs of the best matches, each followed by around messages before and
// after it.
func (p *plain) search(query string, limit, around int) [][]string {
	const k1, b = 1.2, 0.75
	type scored struct {
		doc   int
		score float64
	}
	var all []scored
	mean := float64(p.words) / float64(max(len(p.docs), 1))
	for i, d := range p.docs {
		score := 0.0
		for _, w := range plainWords(query) {
			if tf := float64(d.count[w]); tf > 0 {
				n, df := float64(len(p.docs)), float64(p.in[w])
				score += math.Log(1+(n-df+0.5)/(df+0.5)) * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(d.words)/mean))
			}
		}
		if score > 0 {
			all = append(all, scored{i, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var hits [][]string
	for _, s := range all[:min(len(all), limit)] {
		hit := []string{p.docs[s.doc].id}
		for i := max(s.doc-around, 0); i <= min(s.doc+around, len(p.docs)-1); i++ {
			if i != s.doc && p.docs[i].session == p.docs[s.doc].session {
				hit = append(hit, p.docs[i].id)
			}
		}
		hits = append(hits, hit)
	}
	return hits
}
