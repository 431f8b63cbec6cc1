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

// errSpelt ends a request that was only to be seen.
var errSpelt = errors.New("it was only to be seen")

// encode spells a request as the provider of a model would get it, byte for
// byte. The model is made once more, with a network that goes nowhere: what it
// sends is what it would send.
func encode(model provider.Model, req provider.Request) ([]byte, error) {
	info := model.Info()
	kind, ok := map[string]string{anthropic.API: kindAnthropic, openai.ChatAPI: kindChat, openai.ResponsesAPI: kindResponses}[info.API]
	if !ok {
		return nil, fmt.Errorf("%s/%s is asked without a request over the network: %w", info.Provider, info.Name, firn.ErrUnsupported)
	}
	seen := &spelling{}
	twin := open(kind, door{
		name: info.Provider, model: info.Name, key: "unused", url: "http://localhost", spec: info.Spec, profile: info.Profile,
		client: &http.Client{Transport: seen},
	})
	for _, err := range twin.Stream(context.Background(), req) {
		if err != nil {
			if seen.body == nil {
				return nil, err // it makes no sense, and would not be sent
			}
			break
		}
	}
	return seen.body, nil
}

// spelling is a network that keeps what it was sent and answers nothing.
type spelling struct{ body []byte }

// RoundTrip keeps the body.
func (s *spelling) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = bytes.Clone(body)
	}
	return nil, errSpelt
}
