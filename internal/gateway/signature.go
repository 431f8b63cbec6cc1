package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/textproto"
	"strings"
)

// Signature is how a service shows that a call of a hook is its own, and that nobody
// changed its body: by the HMAC-SHA256 of the body, made with a secret that both
// know, in a header. It says nothing of when the call was made, nor of its other
// headers.
type Signature struct {
	header string
	// secret is told to nobody, and so cannot be got from here.
	secret []byte
}

// NewSignature makes one of the name of the header and the secret. It is nil if the
// secret is empty, since anybody could sign with that.
func NewSignature(header, secret string) *Signature {
	if secret == "" {
		return nil
	}
	return &Signature{header: header, secret: []byte(secret)}
}

// algorithm is how a signature begins.
const algorithm = "sha256="

// Sent finds the signature that a call brings, for [Signature.Fits]. The error says
// what is wrong with it, without a word of it.
func (s *Signature) Sent(headers textproto.MIMEHeader) ([]byte, error) {
	if s == nil {
		return nil, errors.New("the hook takes no signatures")
	}
	sent := headers.Values(s.header)
	if len(sent) != 1 {
		return nil, errors.New("want one header " + s.header)
	}
	digits, ok := strings.CutPrefix(sent[0], algorithm)
	if !ok {
		return nil, errors.New(s.header + " is of another algorithm, want " + algorithm)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return nil, errors.New(s.header + " is not " + algorithm + " and 64 hex digits")
	}
	return mac, nil
}

// Fits reports whether a signature that was sent is that of a body. How long that
// takes tells nothing of the secret.
func (s *Signature) Fits(sent, body []byte) bool {
	if s == nil || len(s.secret) == 0 {
		return false
	}
	h := hmac.New(sha256.New, s.secret)
	h.Write(body)
	return hmac.Equal(sent, h.Sum(nil))
}

// HookSignature is how calls of a hook are signed; nil if they are not, or if there is
// no such hook, or it is switched off.
func (g *Gateway) HookSignature(name string) *Signature {
	h, err := g.setup.Load().hook(name)
	if err != nil {
		return nil
	}
	return h.Signature
}
