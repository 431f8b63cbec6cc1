package main

import (
	"context"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/model2vec"
)

// chatOptions are the options of a measurement on judged conversations.
type chatOptions struct {
	// path is the file of the conversations, model the directory of a Model2Vec model, which
	// may be empty.
	path, model  string
	learn, quick bool
}

// embedder returns the embedder of the model, nil if there is none.
func (o chatOptions) embedder() (fulltext.Embedder, error) {
	if o.model == "" {
		return nil, nil
	}
	m, err := model2vec.Open(vfs.OS{}, o.model)
	if err != nil {
		return nil, err
	}
	return chatEmbedder{m}, nil
}

// chatEmbedder embeds messages with a model in files.
type chatEmbedder struct{ model *model2vec.Model }

func (e chatEmbedder) Ready() error { return nil }
func (e chatEmbedder) Name() string { return e.model.Name() }
func (e chatEmbedder) Batch() int   { return 256 }
func (e chatEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return e.model.Embed(texts)
}

// waitForVectors waits until all messages of an index have a vector.
func waitForVectors(ctx context.Context, index *fulltext.Index) error {
	index.Start()
	for ctx.Err() == nil {
		if s := index.State(); !s.Building && s.Vectors.Total > 0 && s.Vectors.Done == s.Vectors.Total {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ctx.Err()
}
