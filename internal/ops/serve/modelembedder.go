package serve

import (
	"context"
	"path/filepath"
	"sync"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/model2vec"
	"firn.dev/internal/ops/config"
)

// modelBatch is the number of messages whose vectors are written at a time.
const modelBatch = 256

// modelEmbedder embeds texts with a model in a directory. The model is opened when it is
// first needed, and again later if that fails.
type modelEmbedder struct {
	dir string

	mu    sync.Mutex
	model *model2vec.Model
}

// Ready opens the model.
func (e *modelEmbedder) Ready() error {
	_, err := e.open()
	return err
}

func (e *modelEmbedder) open() (*model2vec.Model, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.model != nil {
		return e.model, nil
	}
	m, err := model2vec.Open(vfs.OS{}, e.dir)
	if err != nil {
		return nil, err
	}
	e.model = m
	return m, nil
}

// Name returns the name of the directory, with a hash of the model once it is open.
func (e *modelEmbedder) Name() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.model == nil {
		return filepath.Base(filepath.Clean(e.dir))
	}
	return e.model.Name()
}

// Batch returns the number of texts of a call.
func (e *modelEmbedder) Batch() int { return modelBatch }

// Embed returns the vectors of texts.
func (e *modelEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := e.open()
	if err != nil {
		return nil, err
	}
	return m.Embed(texts)
}

// CheckEmbeddings checks the model of the settings; it does not call endpoints.
func CheckEmbeddings(s config.Embeddings) error {
	if s.Dir == "" {
		return nil
	}
	m, err := model2vec.Open(vfs.OS{}, s.Dir)
	if err == nil {
		_, err = m.Tokens()
	}
	return err
}
