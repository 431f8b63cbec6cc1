// Package model2vec reads models in the format of Model2Vec: a vector for each token of a
// vocabulary (model.safetensors) and the rules that split texts into tokens (tokenizer.json).
// The vector of a text is the mean of those of its tokens, so no model has to run.
//
// Of the vectors, only those of the texts are read, so a model of any size needs little
// memory.
package model2vec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync"

	"firn.dev/internal/disk/vfs"
)

// Names of the files of a model. Those of sentence-transformers are in a directory of their
// own.
const (
	vectorFile    = "model.safetensors"
	tokenizerName = "tokenizer.json"
	innerDir      = "0_StaticEmbedding"
)

// maxTextTokens is the number of tokens of a text that count, as in Model2Vec itself.
const maxTextTokens = 512

// Model is a model in a directory. It is safe for concurrent use.
type Model struct {
	fs  vfs.FS
	dir string
	// name identifies the model by its directory and its content.
	name string
	// vectors are the vectors, of size components each. weights and mapping are nil if there
	// are none.
	vectors          tensor
	rows, size       int
	weights, mapping *tensor
	// was is the state of the file of vectors when it was opened.
	was vfs.Info

	mu sync.Mutex
	// loaded is nil before its first use.
	loaded *loaded
	// cache holds vectors that were read, at most maxCached of maxCachedBytes together.
	cache map[int][]float32
}

// loaded is the part of a model that is kept in memory.
type loaded struct {
	tokenizer *tokenizer
	weights   []float64
	mapping   []float64
}

// Limits of the vectors that are kept in memory.
const (
	maxCached      = 8192
	maxCachedBytes = 64 << 20
)

// Open opens the model in a directory. It reads only the header of the vectors, and the
// rest when it is first used.
func Open(fsys vfs.FS, dir string) (*Model, error) {
	m := &Model{fs: fsys, dir: dir, cache: make(map[int][]float32)}
	if _, err := fsys.Stat(filepath.Join(dir, vectorFile)); err != nil {
		if _, err := fsys.Stat(filepath.Join(dir, innerDir, vectorFile)); err == nil {
			m.dir = filepath.Join(dir, innerDir)
		}
	}
	path := filepath.Join(m.dir, vectorFile)
	f, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, fmt.Errorf("read a Model2Vec model: %w", err)
	}
	defer f.Close() // read-only
	if m.was, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("read a Model2Vec model: %w", err)
	}
	if err := m.readHeader(f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	of, err := fingerprint(f, m.was.Size)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	rules, err := m.openRules()
	if err != nil {
		return nil, err
	}
	defer rules.Close() // read-only
	info, err := rules.Stat()
	if err != nil {
		return nil, err
	}
	also, err := fingerprint(rules, info.Size)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(m.dir, tokenizerName), err)
	}
	m.name = fmt.Sprintf("%s (%s)", filepath.Base(filepath.Clean(dir)), hex.EncodeToString(append(of[:4], also[:4]...)))
	return m, nil
}

// readHeader finds the vectors, the weights and the mapping.
func (m *Model) readHeader(f vfs.File) error {
	all, err := readTensors(f, m.was.Size)
	if err != nil {
		return err
	}
	for _, name := range []string{"embeddings", "embedding.weight", "0"} {
		if t, ok := all[name]; ok {
			m.vectors = t
			if m.rows, m.size, err = t.rows(); err != nil {
				return fmt.Errorf("tensor %q: %w", name, err)
			}
			break
		}
	}
	if m.size == 0 {
		return errors.New(`it has no tensor "embeddings"`)
	}
	m.weights, err = listOf(all, "weights", "F64", "F32", "F16", "BF16")
	if err == nil {
		m.mapping, err = listOf(all, "mapping", "I32", "I64")
	}
	return err
}

// listOf returns a tensor of one dimension, nil if there is none of that name.
func listOf(all map[string]tensor, name string, types ...string) (*tensor, error) {
	t, ok := all[name]
	if !ok {
		return nil, nil
	}
	for _, kind := range types {
		if t.DType == kind && len(t.Shape) == 1 && t.Shape[0] <= maxTokens {
			return &t, nil
		}
	}
	return nil, fmt.Errorf("tensor %q: type %s and shape %v are not supported", name, t.DType, t.Shape[:min(len(t.Shape), 8)])
}

// fingerprint returns a hash of the size of a file and of samples of its content. Models have
// up to 500 MB, and other vectors of the same size differ everywhere.
func fingerprint(f io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	const samples, length = 64, 4096
	h := sha256.New()
	fmt.Fprintln(h, size)
	sample := make([]byte, length)
	for i := range int64(samples) {
		n, err := f.ReadAt(sample, size/samples*i)
		if err != nil && !errors.Is(err, io.EOF) {
			return sum, err
		}
		h.Write(sample[:n])
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

func (m *Model) openRules() (vfs.File, error) {
	f, err := m.fs.Open(filepath.Join(m.dir, tokenizerName), vfs.Read)
	if err != nil {
		return nil, fmt.Errorf("read a Model2Vec model: %w", err)
	}
	return f, nil
}

// load returns the part that is kept in memory, and reads it first if necessary.
func (m *Model) load() (*loaded, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded != nil {
		return m.loaded, nil
	}
	l, err := m.loadAll()
	m.loaded = l
	return l, err
}

// loadAll reads the tokenizer, the weights and the mapping, and checks that they belong to
// the vectors.
func (m *Model) loadAll() (*loaded, error) {
	path := filepath.Join(m.dir, tokenizerName)
	rules, err := m.openRules()
	if err != nil {
		return nil, err
	}
	defer rules.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(rules, maxTokenizer+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > maxTokenizer {
		return nil, fmt.Errorf("read %s: it is longer than %d MB", path, maxTokenizer>>20)
	}
	l := &loaded{}
	if l.tokenizer, err = parseTokenizer(data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f, err := m.openVectors()
	if err != nil {
		return nil, err
	}
	defer f.Close() // read-only
	if m.weights != nil {
		l.weights, err = m.weights.readNumbers(f, 0, int(m.weights.Shape[0]))
	}
	if err == nil && m.mapping != nil {
		l.mapping, err = m.mapping.readNumbers(f, 0, int(m.mapping.Shape[0]))
	}
	if err == nil {
		err = m.checkLoaded(l)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(m.dir, vectorFile), err)
	}
	return l, nil
}

// checkLoaded checks that every token has a vector.
func (m *Model) checkLoaded(l *loaded) error {
	n := l.tokenizer.count
	switch {
	case l.mapping == nil && m.rows < n:
		return fmt.Errorf("it has %d vectors, and the tokenizer has %d tokens", m.rows, n)
	case l.mapping != nil && len(l.mapping) < n:
		return fmt.Errorf("it maps %d tokens, and the tokenizer has %d", len(l.mapping), n)
	case l.weights != nil && len(l.weights) < n:
		return fmt.Errorf("it has the weights of %d tokens, and the tokenizer has %d", len(l.weights), n)
	}
	for i, row := range l.mapping {
		if row < 0 || row >= float64(m.rows) {
			return fmt.Errorf("token %d has vector %.0f of %d", i, row, m.rows)
		}
	}
	for i, w := range l.weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return fmt.Errorf("the weight of token %d is not a number", i)
		}
	}
	return nil
}

// openVectors opens the file of vectors. It fails if the file has changed.
func (m *Model) openVectors() (vfs.File, error) {
	path := filepath.Join(m.dir, vectorFile)
	f, err := m.fs.Open(path, vfs.Read)
	if err != nil {
		return nil, fmt.Errorf("read a Model2Vec model: %w", err)
	}
	info, err := f.Stat()
	if err == nil && (info.Size != m.was.Size || !info.ModTime.Equal(m.was.ModTime)) {
		err = errors.New("it has changed; restart the gateway to use the new model")
	}
	if err != nil {
		f.Close() // read-only
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

// Name identifies the model. It is that of the directory, with a hash of the content.
func (m *Model) Name() string { return m.name }

// Size returns the number of components of a vector.
func (m *Model) Size() int { return m.size }

// Tokens returns the number of tokens of the vocabulary. It reads the tokenizer.
func (m *Model) Tokens() (int, error) {
	l, err := m.load()
	if err != nil {
		return 0, err
	}
	return l.tokenizer.count, nil
}

// Embed returns the vectors of texts. That of a text without a known token is zero.
func (m *Model) Embed(texts []string) ([][]float32, error) {
	l, err := m.load()
	if err != nil {
		return nil, err
	}
	f, err := m.openVectors()
	if err != nil {
		return nil, err
	}
	defer f.Close() // read-only
	all := make([][]float32, len(texts))
	for i, text := range texts {
		if all[i], err = m.mean(f, l, l.tokenizer.tokens(text, maxTextTokens)); err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(m.dir, vectorFile), err)
		}
	}
	return all, nil
}

// mean returns the mean of the vectors of tokens, with the length 1.
func (m *Model) mean(f io.ReaderAt, l *loaded, tokens []int32) ([]float32, error) {
	sum := make([]float64, m.size)
	for _, token := range tokens {
		row, weight := int(token), 1.0
		if l.mapping != nil {
			row = int(l.mapping[token])
		}
		if l.weights != nil {
			weight = l.weights[token]
		}
		v, err := m.vector(f, row)
		if err != nil {
			return nil, err
		}
		for i, x := range v {
			sum[i] += weight * float64(x)
		}
	}
	length := 0.0
	for _, x := range sum {
		length += x * x
	}
	mean := make([]float32, m.size)
	if length = math.Sqrt(length); length > 0 && !math.IsInf(length, 0) {
		for i, x := range sum {
			mean[i] = float32(x / length)
		}
	}
	return mean, nil
}

// vector reads a vector, or returns it from the cache.
func (m *Model) vector(f io.ReaderAt, row int) ([]float32, error) {
	m.mu.Lock()
	v, ok := m.cache[row]
	m.mu.Unlock()
	if ok {
		return v, nil
	}
	numbers, err := m.vectors.readNumbers(f, row*m.size, m.size)
	if err != nil {
		return nil, err
	}
	v = make([]float32, m.size)
	for i, x := range numbers {
		v[i] = float32(x)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cache) >= min(maxCached, maxCachedBytes/(4*m.size)) {
		clear(m.cache)
	}
	m.cache[row] = v
	return v, nil
}
