package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"firn.dev"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// connect connects to one of the servers. A server that rejects the credentials, or that is
// not trusted, is an ErrInvalid: retrying would not help.
func connect(o Options) (*engine, error) {
	options := []nats.Option{
		nats.Name("firn " + o.Space), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1), // sending fails immediately while disconnected; the caller decides how long to retry
		nats.Timeout(attempt),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), // detect a stopped server in time
		nats.IgnoreAuthErrorAbort(), // expired credentials may be renewed
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Report(fmt.Sprintf("connection to the cluster: %v", err))
		}),
	}
	identity, err := authOptions(o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", plainURL(o.URL), err)
	}
	options = append(options, identity...)
	servers := o.URL
	if o.Server != nil {
		options = append(options, nats.InProcessServer(o.Server.server))
		servers = ""
	}
	nc, err := nats.Connect(servers, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", plainURL(o.URL), connectError(err))
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(o.Wait))
	if err != nil {
		nc.Close()
		return nil, err
	}
	e := &engine{nc: nc, js: js, wait: o.Wait, outages: outages{last: make(map[string]time.Time)},
		places: placements{placed: make(map[string]placement)}}
	if nc.ConnectedClusterName() != "" {
		if e.tracer, err = newTracer(nc); err != nil {
			nc.Close()
			return nil, err
		}
	}
	e.watch.open()
	return e, nil
}

// authOptions returns the connection options for credentials and TLS.
func authOptions(o Options) ([]nats.Option, error) {
	var options []nats.Option
	if o.Credentials != "" {
		data, err := os.ReadFile(o.Credentials)
		if err != nil {
			return nil, fmt.Errorf("%w credentials: %w", firn.ErrInvalid, err)
		}
		option := nats.UserCredentials(o.Credentials)
		if _, err := nkeys.ParseDecoratedJWT(data); err != nil || !strings.Contains(string(data), "BEGIN NATS USER JWT") {
			if option, err = nats.NkeyOptionFromSeed(o.Credentials); err != nil {
				return nil, fmt.Errorf("%w credentials: %s contains neither a user token nor a key: %w", firn.ErrInvalid, o.Credentials, err)
			}
		}
		options = append(options, option)
	}
	if _, err := tlsConfig(o); err != nil { // the files are read again on every connect
		return nil, err
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" || o.Key != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	return options, nil
}

// tlsConfig reads the TLS files.
func tlsConfig(o Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		data, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("%w TLS file: %w", firn.ErrInvalid, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%w TLS file: %s contains no certificate", firn.ErrInvalid, o.CA)
		}
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("%w TLS file: %w", firn.ErrInvalid, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// monitorClient returns an HTTP client for the monitoring endpoints of the servers.
func monitorClient(o Options) (*http.Client, error) {
	config, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}, nil
}

// connectError describes why connecting failed: one side does not trust the other, or no
// server responds.
func connectError(err error) error {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("%w credentials: rejected by the server: %w", firn.ErrInvalid, err)
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		return fmt.Errorf("%w certificate: the server's certificate is not trusted: %w", firn.ErrInvalid, err)
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w settings for TLS: %w", firn.ErrInvalid, err)
	case errors.Is(err, nats.ErrTLS), strings.Contains(err.Error(), "tls: "): // a TLS alert of the peer has no more specific type
		return fmt.Errorf("%w certificate: TLS fails: %w", firn.ErrInvalid, err)
	}
	return &Unavailable{Cause: err}
}

// plainURL returns the list of servers without passwords.
func plainURL(list string) string {
	var plain []string
	for _, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") && s != "" {
			s = "nats://" + s // only the first one needs a scheme, and without one a port is not parsed
		}
		u, err := url.Parse(s)
		switch {
		case err != nil:
			s = "an invalid address"
		case u.User != nil:
			u.User = nil
			s = u.String()
		}
		plain = append(plain, s)
	}
	return strings.Join(plain, ",")
}
