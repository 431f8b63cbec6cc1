package mcpclient

import (
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"firn.dev"
)

// httpTransport returns the connection to a server over HTTP.
func httpTransport(s Server) (sdk.Transport, error) {
	address, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("read the url: %w", err)
	}
	home := originOf(address)
	t := &sdk.StreamableClientTransport{
		Endpoint: s.URL, MaxRetries: 1, MaxEventSize: maxLine,
		HTTPClient: &http.Client{Transport: headerTransport{s.Header, home}, CheckRedirect: home.checkRedirect},
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

// origin is the scheme, host and port of an address.
type origin struct{ scheme, host, port string }

// originOf returns the origin of an address.
func originOf(u *url.URL) origin {
	o := origin{strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()}
	if o.port == "" {
		o.port = map[string]string{"http": "80", "https": "443"}[o.scheme]
	}
	return o
}

// maxRedirects limits the redirects of a request.
const maxRedirects = 10

// checkRedirect refuses a redirect to another origin: a server must not send firn's requests,
// their headers and arguments elsewhere.
func (o origin) checkRedirect(q *http.Request, via []*http.Request) error {
	switch to := originOf(q.URL); {
	case to != o:
		return fmt.Errorf("it redirects to another server, %s://%s; configure that address if it is the right one", to.scheme, net.JoinHostPort(to.host, to.port))
	case len(via) >= maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

// headerTransport adds headers to requests to the server's own origin, and limits the size of
// JSON responses.
type headerTransport struct {
	header http.Header
	home   origin
}

// RoundTrip implements [http.RoundTripper].
func (t headerTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if len(t.header) > 0 && originOf(q.URL) == t.home {
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
