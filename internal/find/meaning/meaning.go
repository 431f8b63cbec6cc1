// Package meaning computes how similar the meanings of English words are. It has a table of
// word vectors, made by proving/wordtable from published GloVe vectors. Words are
// stems, as package search produces them.
package meaning

import (
	_ "embed" // for the table
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

//go:embed table.bin
var builtin string

// Table is a table of word vectors.
type Table struct {
	// words are the stems, sorted, each followed by a newline; starts are their offsets.
	words  string
	starts []uint32
	// weights are the weights of the words, and vectors their vectors one after the other.
	weights string
	vectors string
	size    int
	// signs are the signs of the first components of each vector.
	signs func() []signs
}

// Word is the number of a word in a table.
type Word int

// Parameters of the format: a header with the magic number, the number of words, the number
// of components and the length of the words, then the words, the weights and the vectors.
const (
	magic      = "firnwv1\n"
	headerSize = len(magic) + 3*4
	maxSize    = 128
	maxWords   = 1 << 20
	// Scale is the length of a vector.
	Scale = 254
)

var errFormat = errors.New("not a table of word vectors")

// Builtin returns the built-in table.
var Builtin = sync.OnceValue(func() *Table {
	t, err := Parse(builtin)
	if err != nil {
		panic(err) // a test reads it
	}
	return t
})

// Parse reads a table. It keeps data.
func Parse(data string) (*Table, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return nil, errFormat
	}
	number := func(i int) int {
		return int(binary.LittleEndian.Uint32([]byte(data[len(magic)+4*i : len(magic)+4*i+4])))
	}
	count, size, text := number(0), number(1), number(2)
	if count > maxWords || size < 1 || size > maxSize || text > len(data) || len(data) != headerSize+text+count+count*size {
		return nil, fmt.Errorf("%w: its length is not that of %d words", errFormat, count)
	}
	t := &Table{words: data[headerSize : headerSize+text], size: size}
	rest := data[headerSize+text:]
	t.weights, t.vectors = rest[:count], rest[count:]
	t.starts = make([]uint32, 0, count)
	for at := 0; at < text; {
		end := strings.IndexByte(t.words[at:], '\n')
		if end < 1 || len(t.starts) == count {
			return nil, fmt.Errorf("%w: word %d", errFormat, len(t.starts))
		}
		t.starts = append(t.starts, uint32(at))
		if n := len(t.starts); n > 1 && t.Text(Word(n-2)) >= t.words[at:at+end] {
			return nil, fmt.Errorf("%w: word %d is not in order", errFormat, n-1)
		}
		at += end + 1
	}
	if len(t.starts) != count {
		return nil, fmt.Errorf("%w: %d words instead of %d", errFormat, len(t.starts), count)
	}
	t.signs = sync.OnceValue(t.makeSigns)
	return t, nil
}

// Prepare prepares the built-in table for use. Otherwise the first use does.
func Prepare() { Builtin().signs() }

// Len returns the number of words.
func (t *Table) Len() int { return len(t.starts) }

// Text returns a word.
func (t *Table) Text(w Word) string {
	rest := t.words[t.starts[w]:]
	return rest[:strings.IndexByte(rest, '\n')]
}

// Find returns the number of a stem, or false if the table does not have it.
func (t *Table) Find(stem string) (Word, bool) {
	i, ok := slices.BinarySearchFunc(t.starts, stem, func(at uint32, stem string) int {
		rest := t.words[at:]
		return strings.Compare(rest[:strings.IndexByte(rest, '\n')], stem)
	})
	return Word(i), ok
}

// Weight returns how much a word says about the topic of a text, from 0 to 1: rare words
// say more.
func (t *Table) Weight(w Word) float64 { return float64(t.weights[w]) / 255 }

// Similarity returns the cosine of the vectors of two words, from -1 to 1.
func (t *Table) Similarity(a, b Word) float64 {
	x, y := t.vector(a), t.vector(b)
	sum := int32(0)
	for i := range len(x) {
		sum += int32(int8(x[i])) * int32(int8(y[i]))
	}
	return float64(sum) / (Scale * Scale)
}

func (t *Table) vector(w Word) string { return t.vectors[int(w)*t.size : (int(w)+1)*t.size] }

// Similar is a word with its similarity to another one.
type Similar struct {
	Word       Word
	Similarity float64
}

// The numbers of different signs beyond which two words are not similar by 0.5, and not at
// all.
const (
	maxDiffering = 36
	allDiffering = 46
)

// signs are the signs of a vector. Comparing them is cheap.
type signs [2]uint64

func (s signs) differing(o signs) int {
	return bits.OnesCount64(s[0]^o[0]) + bits.OnesCount64(s[1]^o[1])
}

// Rough is Similarity, but 0 for most words that are hardly similar. It is faster.
func (t *Table) Rough(a, b Word) float64 {
	if all := t.signs(); all[a].differing(all[b]) > allDiffering {
		return 0
	}
	return t.Similarity(a, b)
}

// Near returns the words that are most similar to a word, most similar first.
func (t *Table) Near(w Word, most int, least float64) []Similar {
	all := t.signs()
	own := all[w]
	var near []Similar
	for i, s := range all {
		if s.differing(own) > maxDiffering || Word(i) == w {
			continue
		}
		if v := t.Similarity(w, Word(i)); v >= least {
			near = append(near, Similar{Word(i), v})
		}
	}
	slices.SortFunc(near, func(a, b Similar) int {
		switch {
		case a.Similarity > b.Similarity:
			return -1
		case a.Similarity < b.Similarity:
			return 1
		}
		return int(a.Word - b.Word)
	})
	return near[:min(len(near), most)]
}

func (t *Table) makeSigns() []signs {
	all := make([]signs, t.Len())
	for w := range all {
		v := t.vector(Word(w))
		for i := 0; i < len(v); i += 8 {
			all[w][i/64] |= positive(v[i:min(i+8, len(v))]) << (i % 64)
		}
	}
	return all
}

// positive returns which of up to eight components are positive, one bit for each.
func positive(v string) uint64 {
	x := uint64(0)
	if len(v) == 8 {
		x = uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 | uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56
	} else {
		for i := range len(v) {
			x |= uint64(v[i]) << (8 * i)
		}
	}
	const low, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	x = ((x & low) + low) & ^x & high          // the top bit of each positive byte
	return (x >> 7) * 0x0102040810204080 >> 56 // one after the other
}

// Topic is the sum of the vectors of the words of a text.
type Topic struct {
	sum    [maxSize]float32
	length float64
}

// Topic returns the topic of a text.
func (t *Table) Topic(words []Word) *Topic {
	p := &Topic{}
	for _, w := range words {
		weight := float32(t.Weight(w))
		v := t.vector(w)
		for i := range len(v) {
			p.sum[i] += weight * float32(int8(v[i]))
		}
	}
	p.length = p.dot(p)
	return p
}

func (p *Topic) dot(q *Topic) float64 {
	sum := float32(0)
	for i, v := range p.sum {
		sum += v * q.sum[i]
	}
	return float64(sum)
}

// Similarity returns the cosine of two topics, from -1 to 1; 0 if one of them is empty.
func (p *Topic) Similarity(q *Topic) float64 {
	if p.length == 0 || q.length == 0 {
		return 0
	}
	return p.dot(q) / math.Sqrt(p.length*q.length)
}

// Append appends a table to b, in the format that Parse reads. The words must be sorted.
func Append(b []byte, words []string, weights []byte, vectors [][]int8) []byte {
	text := strings.Join(words, "\n") + "\n"
	b = append(b, magic...)
	for _, n := range []int{len(words), len(vectors[0]), len(text)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = append(append(b, text...), weights...)
	for _, v := range vectors {
		for _, c := range v {
			b = append(b, byte(c))
		}
	}
	return b
}
