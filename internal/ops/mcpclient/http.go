package mcpclient

import (
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"firn.dev"
)

// httpTransport returns the connection to a server over HTTP.
func httpTransport(s Server) (sdk.Transport, error) {
	t := &sdk.StreamableClientTransport{
		Endpoint: s.URL, HTTPClient: &http.Client{Transport: headerTransport{s.Header}}, MaxRetries: 1, MaxEventSize: maxLine,
	}
	if s.ClientID == "" {
		return t, nil
	}
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: s.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: s.ClientSecret}},
	})
	if err != nil {
		return nil, fmt.Errorf("set up OAuth: %w", err)
	}
	t.OAuthHandler = handler
	return t, nil
}

// headerTransport adds headers to requests and limits the size of JSON responses.
type headerTransport struct{ header http.Header }

// RoundTrip implements [http.RoundTripper].
func (t headerTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if len(t.header) > 0 {
		q = q.Clone(q.Context())
		for name, values := range t.header {
			q.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	r, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "text/event-stream" {
		r.Body = &limitedBody{r.Body, maxLine}
	}
	return r, nil
}

// limitedBody fails if a body has more than left bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a response of more than %d bytes: %w", maxLine, firn.ErrTooLarge)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}
