package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store/jetstream"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// certificateAuthority issues certificates.
type certificateAuthority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// file is its own certificate.
	file string
}

func newCertificateAuthority(t testing.TB) *certificateAuthority {
	t.Helper()
	a := &certificateAuthority{key: newKey(t), cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.file = writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue creates a certificate and returns the files of it and of its key.
func (a *certificateAuthority) issue(t testing.TB) (cert, key string) {
	t.Helper()
	k := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "somebody"}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		writeFile(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fits opens a store and uses it.
func fits(t *testing.T, o jetstream.Options) error {
	t.Helper()
	st, err := jetstream.Open(t.Context(), o)
	if err != nil {
		return err
	}
	defer st.Close()
	mustAppend(t, st, "s1", message("a"))
	if n := len(records(t, st.Read(t.Context(), "s1", 0))); n < 2 {
		t.Errorf("there are %d records", n)
	}
	return nil
}

// letIn is a set of options and the expected result.
type letIn struct {
	change func(*jetstream.Options)
	// err is the expected error, if any, and says is part of its text.
	err  error
	says string
}

func (c letIn) check(t *testing.T, o jetstream.Options) {
	t.Helper()
	c.change(&o)
	err := fits(t, o)
	switch {
	case c.err == nil && err != nil:
		t.Errorf("it is rejected: %v", err)
	case c.err != nil && (!errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says)):
		t.Errorf("the error is %v, want it to contain %q", err, c.says)
	case err != nil && strings.Contains(err.Error(), "hunter2"):
		t.Errorf("the error contains the password: %v", err)
	}
}

// TestTLS connects to a server that requires client certificates and presents one itself, with
// users that have passwords and keys.
func TestTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newCertificateAuthority(t), newCertificateAuthority(t)
	certFile, keyFile := a.issue(t)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(mustParse(t, a.file))
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	nobody, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	strange, _ := nobody.Seed()
	s := newListening(t, &server.Options{TLSConfig: config, TLS: true, TLSVerify: true, TLSTimeout: 10, AuthTimeout: 30, SyncAlways: true, HTTPHost: "127.0.0.1", HTTPSPort: server.RANDOM_PORT,
		Users: []*server.User{{Username: "ann", Password: "hunter2"}}, Nkeys: []*server.NkeyUser{{Nkey: public}}})
	cert, key := a.issue(t)
	addr := s.Addr().String()
	with := func(login string) func(*jetstream.Options) {
		return func(o *jetstream.Options) { o.URL = "tls://" + login + addr }
	}
	good := jetstream.Options{URL: "tls://ann:hunter2@" + addr, CA: a.file, Cert: cert, Key: key, Space: "tls", Shards: 1,
		Monitors: []string{"https://" + s.MonitorAddr().String()}, Report: func(m string) { t.Log(m) }}
	for name, c := range map[string]letIn{
		"a password":           {change: func(*jetstream.Options) {}},
		"a wrong password":     {change: with("ann:hunter23@"), says: "rejected by the server", err: firn.ErrInvalid},
		"no user":              {change: with(""), says: "rejected by the server", err: firn.ErrInvalid},
		"a key":                {change: func(o *jetstream.Options) { with("")(o); o.Credentials = writeFile(t, "seed", seed) }},
		"a wrong key":          {change: func(o *jetstream.Options) { with("")(o); o.Credentials = writeFile(t, "seed", strange) }, says: "rejected by the server", err: firn.ErrInvalid},
		"no file with a key":   {change: func(o *jetstream.Options) { o.Credentials = "/nowhere" }, says: "/nowhere", err: firn.ErrInvalid},
		"a file with no key":   {change: func(o *jetstream.Options) { o.Credentials = writeFile(t, "seed", []byte("?")) }, says: "neither", err: firn.ErrInvalid},
		"no trusted CA":        {change: func(o *jetstream.Options) { o.CA = "" }, says: "the server's certificate is not trusted", err: firn.ErrInvalid},
		"we trust another":     {change: func(o *jetstream.Options) { o.CA = stranger.file }, says: "the server's certificate is not trusted", err: firn.ErrInvalid},
		"no certificate":       {change: func(o *jetstream.Options) { o.Cert, o.Key = "", "" }, says: "certificate: TLS fails", err: firn.ErrInvalid},
		"unknown CA":           {change: func(o *jetstream.Options) { o.Cert, o.Key = stranger.issue(t) }, says: "certificate: TLS fails", err: firn.ErrInvalid},
		"half a certificate":   {change: func(o *jetstream.Options) { o.Key = "" }, says: "TLS file", err: firn.ErrInvalid},
		"no such file":         {change: func(o *jetstream.Options) { o.CA = "/nowhere" }, says: "/nowhere", err: firn.ErrInvalid},
		"not a certificate":    {change: func(o *jetstream.Options) { o.CA = writeFile(t, "ca", []byte("?")) }, says: "TLS file", err: firn.ErrInvalid},
		"no server":            {change: func(o *jetstream.Options) { o.URL = "tls://ann:hunter2@127.0.0.1:1" }, says: "tls://127.0.0.1:1", err: firn.ErrUnavailable},
		"monitoring elsewhere": {change: func(o *jetstream.Options) { o.Monitors = []string{"https://127.0.0.1:1"} }, says: "monitoring", err: firn.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, good) })
	}
}

func mustParse(t testing.TB, file string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestCredentials connects to a server with several accounts, using the credentials of one.
func TestCredentials(t *testing.T) {
	t.Parallel()
	keyOf := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		t.Helper()
		pair, err := make()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return pair, public
	}
	operator, operatorName := keyOf(nkeys.CreateOperator)
	claims := jwt.NewOperatorClaims(operatorName)
	resolver := &server.MemAccResolver{}
	// account creates an account and returns the credentials of one of its users.
	account := func(known bool) (string, string) {
		t.Helper()
		pair, name := keyOf(nkeys.CreateAccount)
		claims := jwt.NewAccountClaims(name)
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		token, err := claims.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if known {
			if err := resolver.Store(name, token); err != nil {
				t.Fatal(err)
			}
		}
		user, userName := keyOf(nkeys.CreateUser)
		token, err = jwt.NewUserClaims(userName).Encode(pair)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			t.Fatal(err)
		}
		return writeFile(t, "user.creds", data), name
	}
	_, system := keyOf(nkeys.CreateAccount)
	systemClaims := jwt.NewAccountClaims(system)
	token, err := systemClaims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolver.Store(system, token); err != nil {
		t.Fatal(err)
	}
	ours, _ := account(true)
	others, _ := account(true)
	unknown, _ := account(false)
	s := newListening(t, &server.Options{TrustedOperators: []*jwt.OperatorClaims{claims}, AccountResolver: resolver, SystemAccount: system, AuthTimeout: 30})
	good := jetstream.Options{URL: "nats://" + s.Addr().String(), Unsafe: true, Space: "creds", Shards: 1, Report: func(m string) { t.Log(m) }}
	use := func(file string) func(*jetstream.Options) {
		return func(o *jetstream.Options) { o.Credentials = file }
	}
	for name, c := range map[string]letIn{
		"ours":    {change: use(ours)},
		"none":    {change: use(""), says: "rejected by the server", err: firn.ErrInvalid},
		"unknown": {change: use(unknown), says: "rejected by the server", err: firn.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, good) })
	}
	// Accounts are isolated: the same store name in another account is another store.
	o := good
	use(others)(&o)
	st := another(t, o)
	if all := list(t, st); len(all) != 0 {
		t.Errorf("another account sees %v", all)
	}
}
