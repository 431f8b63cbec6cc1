package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/anthropic"
	"firn.dev/provider/openai"
)

// errCaptured ends a request after its body was captured.
var errCaptured = errors.New("request captured")

// encode returns a request exactly as the provider of a model would receive it. It creates
// a second model with a transport that captures the request instead of sending it.
func encode(model provider.Model, req provider.Request) ([]byte, error) {
	info := model.Info()
	kind, ok := map[string]string{anthropic.API: kindAnthropic, openai.ChatAPI: kindChat, openai.ResponsesAPI: kindResponses}[info.API]
	if !ok {
		return nil, fmt.Errorf("%s/%s sends no network request: %w", info.Provider, info.Name, firn.ErrUnsupported)
	}
	seen := &captureTransport{}
	twin := open(kind, endpoint{
		name: info.Provider, model: info.Name, key: "unused", url: "http://localhost", spec: info.Spec, profile: info.Profile,
		client: &http.Client{Transport: seen},
	})
	for _, err := range twin.Stream(context.Background(), req) {
		if err != nil {
			if seen.body == nil {
				return nil, err // the request is invalid and would not be sent
			}
			break
		}
	}
	return seen.body, nil
}

// captureTransport captures the request body and sends nothing.
type captureTransport struct{ body []byte }

// RoundTrip captures the body.
func (s *captureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = bytes.Clone(body)
	}
	return nil, errCaptured
}
