package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/base/rawjson"
)

// The formats of signatures. All are HMAC-SHA256 under a shared secret.
const (
	// SignedGitHub signs the body only: a call that was recorded can be repeated.
	SignedGitHub = "github"
	// SignedStandard is the format of Standard Webhooks: it signs an ID, a time and the body.
	SignedStandard = "standard"
	// SignedSlack and SignedStripe sign a time and the body.
	SignedSlack  = "slack"
	SignedStripe = "stripe"
)

// MaxSignedAge is the maximum difference between the signed time of a call and the clock,
// in both directions.
const MaxSignedAge = 5 * time.Minute

// Signature verifies that a hook call comes from a service and that its body is unmodified.
// In formats with a time it also verifies that the call is recent.
type Signature struct {
	format, header string
	// secret is never exposed.
	secret []byte
}

// NewSignature returns a signature for a format, the header of [SignedGitHub] and a secret.
// It returns nil if the secret is empty, since anyone could sign with that.
func NewSignature(format, header, secret string) *Signature {
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok && format == SignedStandard {
		if decoded, err := base64.StdEncoding.DecodeString(coded); err == nil {
			key = decoded
		}
	}
	if len(key) == 0 {
		return nil
	}
	return &Signature{format: format, header: header, secret: key}
}

// Sent is the signature in the headers of a call.
type Sent struct {
	// id is the signed ID of the call; empty if the format has none.
	id string
	// prefix is signed together with the body that follows it.
	prefix string
	// macs are the given signatures, of which one must fit. While a secret is being replaced,
	// services sign with the old and the new one.
	macs [][]byte
}

// maxMACs limits the signatures of one call.
const maxMACs = 8

// Sent returns the signature in a call's headers, for [Signature.Verify]. The error does not
// quote it.
func (s *Signature) Sent(headers textproto.MIMEHeader, now time.Time) (Sent, error) {
	if s == nil {
		return Sent{}, errors.New("the hook does not accept signatures")
	}
	switch s.format {
	case SignedStandard:
		return readStandard(headers, now)
	case SignedSlack:
		return readSlack(headers, now)
	case SignedStripe:
		return readStripe(headers, now)
	}
	return readGitHub(headers, s.header)
}

func readGitHub(headers textproto.MIMEHeader, name string) (Sent, error) {
	value, err := oneHeader(headers, name)
	if err != nil {
		return Sent{}, err
	}
	mac, err := readHex(name, value, "sha256=")
	return Sent{macs: [][]byte{mac}}, err
}

// readStandard reads webhook-id, webhook-timestamp and webhook-signature, which is a list of
// "v1," and a signature in base64, separated by spaces. Other versions are ignored.
func readStandard(headers textproto.MIMEHeader, now time.Time) (Sent, error) {
	id, err := oneHeader(headers, "Webhook-Id")
	if err != nil {
		return Sent{}, err
	}
	if id == "" || strings.Contains(id, ".") {
		return Sent{}, errors.New("Webhook-Id is empty or contains a period")
	}
	at, err := oneHeader(headers, "Webhook-Timestamp")
	if err != nil {
		return Sent{}, err
	}
	value, err := oneHeader(headers, "Webhook-Signature")
	if err != nil {
		return Sent{}, err
	}
	out := Sent{id: id, prefix: id + "." + at + "."}
	for part := range strings.FieldsSeq(value) {
		if coded, ok := strings.CutPrefix(part, "v1,"); ok {
			if mac, err := base64.StdEncoding.DecodeString(coded); err == nil {
				out.macs = append(out.macs, mac)
			}
		}
	}
	return out, errors.Join(out.check("Webhook-Signature"), checkAge("Webhook-Timestamp", at, now))
}

func readSlack(headers textproto.MIMEHeader, now time.Time) (Sent, error) {
	at, err := oneHeader(headers, "X-Slack-Request-Timestamp")
	if err != nil {
		return Sent{}, err
	}
	value, err := oneHeader(headers, "X-Slack-Signature")
	if err != nil {
		return Sent{}, err
	}
	mac, err := readHex("X-Slack-Signature", value, "v0=")
	return Sent{prefix: "v0:" + at + ":", macs: [][]byte{mac}}, errors.Join(err, checkAge("X-Slack-Request-Timestamp", at, now))
}

// readStripe reads Stripe-Signature: t= and a time, v1= and signatures in hex, separated by
// commas. Other members are ignored.
func readStripe(headers textproto.MIMEHeader, now time.Time) (Sent, error) {
	const name = "Stripe-Signature"
	value, err := oneHeader(headers, name)
	if err != nil {
		return Sent{}, err
	}
	var out Sent
	var at string
	for part := range strings.SplitSeq(value, ",") {
		member, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case member == "t" && at != "":
			return Sent{}, errors.New(name + " has two times")
		case member == "t":
			at = text
		case member == "v1":
			if mac, err := hex.DecodeString(text); err == nil {
				out.macs = append(out.macs, mac)
			}
		}
	}
	out.prefix = at + "."
	return out, errors.Join(out.check(name), checkAge(name, at, now))
}

// oneHeader returns the value of a header that must be sent once.
func oneHeader(headers textproto.MIMEHeader, name string) (string, error) {
	sent := headers.Values(name)
	if len(sent) != 1 {
		return "", errors.New("expected one header " + name)
	}
	return strings.TrimSpace(sent[0]), nil
}

// readHex reads a signature in hex after a prefix.
func readHex(name, value, prefix string) ([]byte, error) {
	digits, ok := strings.CutPrefix(value, prefix)
	if !ok {
		return nil, errors.New(name + " has another algorithm, expected " + prefix)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return nil, errors.New(name + " is not " + prefix + " and 64 hex digits")
	}
	return mac, nil
}

// check returns an error unless there are some signatures and not too many.
func (s Sent) check(name string) error {
	if len(s.macs) == 0 || len(s.macs) > maxMACs {
		return fmt.Errorf("%s has %d signatures of version 1, expected 1 to %d", name, len(s.macs), maxMACs)
	}
	return nil
}

// checkAge returns an error unless a time, in seconds since 1970, is near the clock.
func checkAge(name, text string, now time.Time) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text {
		return errors.New(name + " has no time in seconds since 1970")
	}
	if seconds < now.Add(-MaxSignedAge).Unix() || seconds > now.Add(MaxSignedAge).Unix() {
		return fmt.Errorf("%s differs from the clock of this machine by more than %d minutes", name, int(MaxSignedAge.Minutes()))
	}
	return nil
}

// Verify reports whether a signature matches a body, in constant time. In formats with a
// time, call identifies the call. It is signed, so that a repeated call is recognized
// whatever its other headers are.
func (s *Signature) Verify(sent Sent, body []byte) (call string, ok bool) {
	if s == nil || len(s.secret) == 0 {
		return "", false
	}
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte(sent.prefix))
	h.Write(body)
	want := h.Sum(nil)
	for _, mac := range sent.macs {
		ok = hmac.Equal(mac, want) || ok
	}
	switch {
	case !ok || sent.prefix == "":
		return "", ok
	case sent.id != "":
		return sent.id, true
	}
	if id := s.eventID(body); id != "" {
		return id, true
	}
	return hex.EncodeToString(want), true
}

// eventID returns the ID of the event in a body of Slack or Stripe; empty if it has none.
// These services sign each delivery attempt separately.
func (s *Signature) eventID(body []byte) string {
	var event struct {
		Slack  string `json:"event_id"`
		Stripe string `json:"id"`
	}
	if rawjson.Unmarshal(body, &event, true) != nil {
		return ""
	}
	if s.format == SignedSlack {
		return event.Slack
	}
	return event.Stripe
}

// Challenge returns the challenge with which Slack checks the address of a hook; empty if the
// body is something else. The answer must repeat it.
func (s *Signature) Challenge(body []byte) string {
	if s == nil || s.format != SignedSlack {
		return ""
	}
	var check struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if rawjson.Unmarshal(body, &check, true) != nil || check.Type != "url_verification" {
		return ""
	}
	return check.Challenge
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
