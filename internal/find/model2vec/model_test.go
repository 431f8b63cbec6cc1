package model2vec

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/model2vec/modeltest"
)

// vocabulary is that of most tests.
var vocabulary = []string{"[UNK]", "a", "dog", "cat", "##s", "run", "##ning", ",", "cafe"}

// table returns a table of vectors of two components, different for each token.
func table(n int, dtype string) modeltest.Tensor {
	t := modeltest.Tensor{Name: "embeddings", DType: dtype, Shape: []int{n, 2}}
	for i := range n {
		t.Numbers = append(t.Numbers, float64(i), float64(n-i))
	}
	return t
}

// writeModel writes a model into a directory. Parts that are nil are left out.
func writeModel(t *testing.T, dir string, tokenizer []byte, all ...modeltest.Tensor) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if all != nil {
		data, err := modeltest.Tensors(all...)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, vectorFile), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if tokenizer != nil {
		if err := os.WriteFile(filepath.Join(dir, tokenizerName), tokenizer, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func tokensFile(t *testing.T, tokens ...string) []byte {
	t.Helper()
	data, err := modeltest.Tokens(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// meanOf returns the normalized mean of rows of table, with weights.
func meanOf(n int, weights map[int]float64) []float32 {
	x, y := 0.0, 0.0
	for i, w := range weights {
		x, y = x+w*float64(i), y+w*float64(n-i)
	}
	length := math.Hypot(x, y)
	return []float32{float32(x / length), float32(y / length)}
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-4 })
}

// TestEmbed embeds texts with vectors of every type, and with weights and a mapping.
func TestEmbed(t *testing.T) {
	n := len(vocabulary)
	for _, dtype := range []string{"F64", "F32", "F16", "BF16", "I8"} {
		for _, inner := range []string{"", innerDir} {
			dir := filepath.Join(t.TempDir(), "tiny")
			writeModel(t, filepath.Join(dir, inner), tokensFile(t, vocabulary...), table(n, dtype))
			m, err := Open(vfs.OS{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			vectors, err := m.Embed([]string{"A DOG, cats", "running Café", "unknown", ""})
			if err != nil {
				t.Fatal(err)
			}
			want := [][]float32{meanOf(n, map[int]float64{1: 1, 2: 1, 7: 1, 3: 1, 4: 1}), meanOf(n, map[int]float64{5: 1, 6: 1, 8: 1}), {0, 0}, {0, 0}}
			if !slices.EqualFunc(vectors, want, near) {
				t.Errorf("%s: %v, want %v", dtype, vectors, want)
			}
			if tokens, err := m.Tokens(); tokens != n || err != nil || m.Size() != 2 || !strings.HasPrefix(m.Name(), "tiny (") {
				t.Errorf("%d tokens (%v), %d components, name %s", tokens, err, m.Size(), m.Name())
			}
		}
	}
	dir := t.TempDir()
	small := table(3, "F32")
	writeModel(t, dir, tokensFile(t, "[UNK]", "a", "b", "c"), small,
		modeltest.Tensor{Name: "weights", DType: "F64", Shape: []int{4}, Numbers: []float64{1, 0.5, 2, 1}},
		modeltest.Tensor{Name: "mapping", DType: "I32", Shape: []int{4}, Numbers: []float64{0, 2, 1, 1}})
	m, err := Open(vfs.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := m.Embed([]string{"a b c"})
	if want := meanOf(3, map[int]float64{2: 0.5, 1: 3}); err != nil || !near(vectors[0], want) {
		t.Errorf("with a mapping: %v, %v, want %v", vectors, err, want)
	}
}

// TestNameDependsOnContent checks that another model of the same size has another name, and
// that a copy has the same.
func TestNameDependsOnContent(t *testing.T) {
	name := func(first float64) string {
		dir := filepath.Join(t.TempDir(), "m")
		vectors := table(200, "F32")
		vectors.Numbers[300] = first
		writeModel(t, dir, tokensFile(t, vocabulary...), vectors)
		m, err := Open(vfs.OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		return m.Name()
	}
	if a, b, other := name(1), name(1), name(2); a != b || a == other {
		t.Errorf("names %s, %s, %s", a, b, other)
	}
}

// TestWrongModels checks the errors of models that cannot be used.
func TestWrongModels(t *testing.T) {
	good := tokensFile(t, "[UNK]", "a", "b")
	list := func(name, dtype string, numbers ...float64) modeltest.Tensor {
		return modeltest.Tensor{Name: name, DType: dtype, Shape: []int{len(numbers)}, Numbers: numbers}
	}
	for name, c := range map[string]struct {
		tokenizer []byte
		tensors   []modeltest.Tensor
		want      string
	}{
		"no files":       {nil, nil, "model.safetensors"},
		"no tokenizer":   {nil, []modeltest.Tensor{table(3, "F32")}, "tokenizer.json"},
		"no vectors":     {good, []modeltest.Tensor{list("other", "F32", 1)}, `no tensor "embeddings"`},
		"one dimension":  {good, []modeltest.Tensor{list("embeddings", "F32", 1, 2, 3)}, "not that of a table"},
		"integers":       {good, []modeltest.Tensor{table(3, "I32")}, "type I32"},
		"few vectors":    {good, []modeltest.Tensor{table(2, "F32")}, "2 vectors, and the tokenizer has 3 tokens"},
		"few weights":    {good, []modeltest.Tensor{table(3, "F32"), list("weights", "F32", 1)}, "weights of 1 tokens"},
		"weights NaN":    {good, []modeltest.Tensor{table(3, "F32"), list("weights", "F32", 1, math.NaN(), 1)}, "weight of token 1"},
		"weights of I8":  {good, []modeltest.Tensor{table(3, "F32"), list("weights", "I8", 1, 1, 1)}, `"weights": type I8`},
		"few mapped":     {good, []modeltest.Tensor{table(3, "F32"), list("mapping", "I64", 1)}, "maps 1 tokens"},
		"mapped outside": {good, []modeltest.Tensor{table(3, "F32"), list("mapping", "I64", 1, 3, 1)}, "vector 3 of 3"},
		"mapped before":  {good, []modeltest.Tensor{table(3, "F32"), list("mapping", "I32", 1, -1, 1)}, "vector -1 of 3"},
		"not JSON":       {[]byte("{"), []modeltest.Tensor{table(3, "F32")}, "unexpected end"},
		"other model":    {[]byte(`{"model":{"type":"WordLevel","vocab":{}}}`), []modeltest.Tensor{table(3, "F32")}, "WordLevel"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeModel(t, dir, c.tokenizer, c.tensors...)
			m, err := Open(vfs.OS{}, dir)
			if err == nil {
				_, err = m.Embed([]string{"a"})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestChangedModel checks that a model that was replaced is not used with old headers.
func TestChangedModel(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, tokensFile(t, "[UNK]", "a"), table(2, "F32"))
	m, err := Open(vfs.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed([]string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, vectorFile), time.Time{}, time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed([]string{"a"}); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a replaced model: %v", err)
	}
}
