package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/ops/config"
)

// Limits of calls to an embeddings endpoint.
const (
	embedTimeout     = 2 * time.Minute
	maxEmbedResponse = 64 << 20
)

// embedder calls an embeddings endpoint: OpenAI's, or Ollama's own.
type embedder struct {
	client     *http.Client
	url, model string
	batch      int
	// key returns the API key, empty if there is none.
	key func() (string, error)
}

// newEmbedder returns the embedder of the settings, nil if none is set.
func newEmbedder(s config.Embeddings, env func(string) string) (fulltext.Embedder, error) {
	if s.Dir != "" {
		return &modelEmbedder{dir: s.Dir}, nil
	}
	if s.URL == "" && s.Model == "" {
		return nil, nil
	}
	if s.URL == "" || s.Model == "" {
		return nil, fmt.Errorf("%w settings: search.embeddings needs both url and model", firn.ErrInvalid)
	}
	address, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("%w setting search.embeddings.url: %w", firn.ErrInvalid, withoutURL(err))
	}
	if path := strings.TrimSuffix(address.Path, "/"); !strings.HasSuffix(path, "/embeddings") && !strings.HasSuffix(path, "/api/embed") {
		address.Path = path + "/embeddings"
	}
	e := &embedder{url: address.String(), model: s.Model, batch: s.Batch}
	e.client = &http.Client{Timeout: embedTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, and messages are sent only to the address in the settings")
	}}
	e.key = func() (string, error) {
		if s.KeyEnv == "" && s.KeyFile == "" {
			return "", nil
		}
		return config.Secret(s.KeyEnv, s.KeyFile, env)
	}
	return e, nil
}

// Ready returns nil: the endpoint is called to find out.
func (e *embedder) Ready() error { return nil }

// Name returns the model and its address, without user information.
func (e *embedder) Name() string {
	address, err := url.Parse(e.url)
	if err != nil {
		return e.model
	}
	return e.model + " at " + address.Host
}

// Batch returns the maximum number of texts of a call.
func (e *embedder) Batch() int { return e.batch }

// Embed returns the vectors of texts.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": e.model, "input": texts})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name(), withoutURL(err))
	}
	request.Header.Set("Content-Type", "application/json")
	key, err := e.key()
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name(), err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name(), withoutURL(err))
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxEmbedResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response of %s: %w", e.Name(), err)
	case len(data) > maxEmbedResponse:
		return nil, fmt.Errorf("read the response of %s: it is longer than %d MB", e.Name(), maxEmbedResponse>>20)
	case slices.Contains(rejections, response.StatusCode):
		return nil, fmt.Errorf("call %s: %w: status %d (%s)", e.Name(), fulltext.ErrRejected, response.StatusCode, http.StatusText(response.StatusCode))
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("call %s: status %d (%s)", e.Name(), response.StatusCode, http.StatusText(response.StatusCode)) // without its body, which may repeat messages and keys
	}
	vectors, err := parseVectors(data, len(texts))
	if err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", e.Name(), err)
	}
	return vectors, nil
}

// rejections are the statuses of endpoints that do not accept a text. Others, such as those of
// a wrong key, path or model, do not depend on it.
var rejections = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// withoutURL returns an error without the address of the endpoint, which may contain a key.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// parseVectors parses the response for n texts: OpenAI's data, in any order, or Ollama's
// embeddings.
func parseVectors(data []byte, n int) ([][]float32, error) {
	var response struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := json.Unmarshal(data, &response); err != nil {
		return nil, err
	}
	if response.Embeddings != nil {
		if len(response.Embeddings) != n {
			return nil, fmt.Errorf("it has %d vectors for %d texts", len(response.Embeddings), n)
		}
		return response.Embeddings, nil
	}
	if len(response.Data) != n {
		return nil, fmt.Errorf("it has %d vectors for %d texts", len(response.Data), n)
	}
	vectors := make([][]float32, n)
	for i, one := range response.Data {
		if one.Index != nil {
			i = *one.Index
		}
		if i < 0 || i >= n || vectors[i] != nil || one.Embedding == nil {
			return nil, errors.New("its vectors are not one for each text")
		}
		vectors[i] = one.Embedding
	}
	return vectors, nil
}
