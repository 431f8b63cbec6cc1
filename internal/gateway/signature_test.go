package gateway

import (
	"net/textproto"
	"strings"
	"testing"
)

// TestSignature checks the example in GitHub's documentation.
func TestSignature(t *testing.T) {
	const (
		header = "X-Hub-Signature-256"
		secret = "It's a Secret to Everybody"
		body   = "Hello, World!"
		right  = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	)
	s := NewSignature(header, secret)
	for name, c := range map[string]struct {
		sent      []string
		body      string
		read, fit bool
	}{
		"right":             {[]string{"sha256=" + right}, body, true, true},
		"in capitals":       {[]string{"sha256=" + strings.ToUpper(right)}, body, true, true},
		"of another body":   {[]string{"sha256=" + right}, body + " ", true, false},
		"wrong":             {[]string{"sha256=" + strings.Repeat("0", 64)}, body, true, false},
		"missing":           {nil, body, false, false},
		"empty":             {[]string{""}, body, false, false},
		"twice":             {[]string{"sha256=" + right, "sha256=" + right}, body, false, false},
		"another algorithm": {[]string{"sha1=" + right[:40]}, body, false, false},
		"no algorithm":      {[]string{right}, body, false, false},
		"cut off":           {[]string{"sha256=" + right[:62]}, body, false, false},
		"too long":          {[]string{"sha256=" + right + "00"}, body, false, false},
		"no digits":         {[]string{"sha256=" + strings.Repeat("x", 64)}, body, false, false},
	} {
		sent, err := s.Sent(textproto.MIMEHeader{header: c.sent})
		if (err == nil) != c.read || err == nil && s.Fits(sent, []byte(c.body)) != c.fit {
			t.Errorf("%s: %v, fits %t", name, err, s.Fits(sent, []byte(c.body)))
		}
		if err != nil && (strings.Contains(err.Error(), right[:40]) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %v reveals too much", name, err)
		}
	}
}

// TestNoSecretNoSignature checks that without a secret no signature is accepted.
func TestNoSecretNoSignature(t *testing.T) {
	s := NewSignature("X-Hub-Signature-256", "")
	if s != nil || s.Fits(nil, nil) {
		t.Error("a signature with an empty secret was accepted")
	}
	if _, err := s.Sent(nil); err == nil {
		t.Error("a signature was read")
	}
}
