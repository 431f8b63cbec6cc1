package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/textproto"
	"strings"
)

// Signature verifies that a hook call comes from a service and that its body is unmodified:
// a header contains the HMAC-SHA256 of the body under a shared secret. It does not cover
// the time of the call or other headers.
type Signature struct {
	header string
	// secret is never exposed.
	secret []byte
}

// NewSignature returns a signature for a header name and a secret. It returns nil if the
// secret is empty, since anyone could sign with that.
func NewSignature(header, secret string) *Signature {
	if secret == "" {
		return nil
	}
	return &Signature{header: header, secret: []byte(secret)}
}

// algorithm is the prefix of a signature.
const algorithm = "sha256="

// Sent returns the signature in a call's headers, for [Signature.Fits]. The error does not
// quote it.
func (s *Signature) Sent(headers textproto.MIMEHeader) ([]byte, error) {
	if s == nil {
		return nil, errors.New("the hook does not accept signatures")
	}
	sent := headers.Values(s.header)
	if len(sent) != 1 {
		return nil, errors.New("expected one header " + s.header)
	}
	digits, ok := strings.CutPrefix(sent[0], algorithm)
	if !ok {
		return nil, errors.New(s.header + " has another algorithm, expected " + algorithm)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return nil, errors.New(s.header + " is not " + algorithm + " and 64 hex digits")
	}
	return mac, nil
}

// Fits reports whether a signature matches a body, in constant time.
func (s *Signature) Fits(sent, body []byte) bool {
	if s == nil || len(s.secret) == 0 {
		return false
	}
	h := hmac.New(sha256.New, s.secret)
	h.Write(body)
	return hmac.Equal(sent, h.Sum(nil))
}

// HookSignature returns the signature of a hook; nil if calls are not signed, or the hook
// does not exist or is disabled.
func (g *inbox) HookSignature(name string) *Signature {
	h, err := g.setup.Load().hook(name)
	if err != nil {
		return nil
	}
	return h.Signature
}
