package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/find/model2vec/modeltest"
	"firn.dev/internal/ops/config"
)

// writeModel writes a model whose tokens car and automobile have the same vector.
func writeModel(t *testing.T, dir string) {
	t.Helper()
	vectors, err := modeltest.Tensors(modeltest.Tensor{Name: "embeddings", DType: "F32", Shape: []int{4, 2}, Numbers: []float64{0, 0, 1, 0, 1, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := modeltest.Tokens("[UNK]", "car", "automobile", "bread")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"model.safetensors": vectors, "tokenizer.json": tokens} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModelEmbedder embeds with a model in a directory that is first missing.
func TestModelEmbedder(t *testing.T) {
	settings := config.Embeddings{Dir: filepath.Join(t.TempDir(), "tiny")}
	e, err := newEmbedder(settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Ready(); err == nil || !strings.Contains(err.Error(), settings.Dir) || e.Name() != "tiny" || CheckEmbeddings(settings) == nil {
		t.Errorf("without files: %v, name %s", err, e.Name())
	}
	writeModel(t, settings.Dir)
	if err := e.Ready(); err != nil || !strings.HasPrefix(e.Name(), "tiny (") || CheckEmbeddings(settings) != nil {
		t.Errorf("with files: %v, name %s", err, e.Name())
	}
	vectors, err := e.Embed(t.Context(), []string{"A car", "the Automobile", "bread"})
	if err != nil || vectors[0][0] != 1 || vectors[1][0] != 1 || vectors[2][0] != 0 {
		t.Errorf("%v, %v", vectors, err)
	}
	if err := CheckEmbeddings(config.Embeddings{}); err != nil {
		t.Errorf("without a directory: %v", err)
	}
}
