package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// signing signs a request as services do.
func signing(algorithm string, h func() hash.Hash, secret, body string) change {
	mac := hmac.New(h, []byte(secret))
	mac.Write([]byte(body))
	return with("X-Hub-Signature-256", algorithm+"="+hex.EncodeToString(mac.Sum(nil)))
}

// TestSignedHooks checks that a signed call needs no token, that rejected callers learn
// nothing, and that tokens still work.
func TestSignedHooks(t *testing.T) {
	var log bytes.Buffer
	s := newFakeServer(t, api.Config{MaxBody: 100, Log: slog.New(slog.NewTextHandler(&log, nil))})
	deployer := bearing(s.token(wire.NewToken{Name: "deployer", Scope: wire.ScopeHook}))
	posing := bearing(s.token(wire.NewToken{Name: "hook:signed", Scope: wire.ScopeHook}))
	const text = " {\"a\": 1}\r\n"
	body, right := withBody("application/json", text), signing("sha256", sha256.New, hookSecret, text)
	refused := s.ask("POST", "/v1/hooks/nobody", body, right)
	for name, c := range map[string]struct {
		target string
		who    []change
		status int
	}{
		"signed":                    {"/v1/hooks/signed", []change{body, right}, 200},
		"signed, with both ways":    {"/v1/hooks/both", []change{body, right}, 200},
		"a token, with both ways":   {"/v1/hooks/both", []change{body, deployer}, 200},
		"a token and a bad mark":    {"/v1/hooks/both", []change{body, deployer, with("X-Hub-Signature-256", "sha256=00")}, 200},
		"signed with nothing in it": {"/v1/hooks/signed", []change{signing("sha256", sha256.New, hookSecret, "")}, 200},
		"no such hook":              {"/v1/hooks/nobody", []change{body, right}, 401},
		"a hook without a secret":   {"/v1/hooks/deploy", []change{body, right}, 401},
		"not signed":                {"/v1/hooks/signed", []change{body}, 401},
		"another secret":            {"/v1/hooks/signed", []change{body, signing("sha256", sha256.New, "guess", text)}, 401},
		"no secret":                 {"/v1/hooks/signed", []change{body, signing("sha256", sha256.New, "", text)}, 401},
		"another body":              {"/v1/hooks/signed", []change{withBody("application/json", text+" "), right}, 401},
		"another algorithm":         {"/v1/hooks/signed", []change{body, signing("sha1", sha1.New, hookSecret, text)}, 401},
		"a token that is wrong":     {"/v1/hooks/both", []change{body, right, bearing("firn_x")}, 401},
		"the token of another":      {"/v1/hooks/signed", []change{body, right, deployer}, 404},
		"a token named like it":     {"/v1/hooks/signed", []change{body, posing}, 404},
		"too large":                 {"/v1/hooks/signed", []change{withBody("text/plain", strings.Repeat("x", 101)), right}, 413},
		"something else":            {"/v1/maintenance", []change{body, right}, 401},
		"a foreign page":            {"/v1/hooks/signed", []change{body, right, with("Origin", "https://evil.example")}, 403},
	} {
		got := s.ask("POST", c.target, c.who...)
		asked := s.fake.was()
		if got.status != c.status || (len(asked) == 1) != (c.status == 200) {
			t.Errorf("%s: %d %s, received %q", name, got.status, got.body, asked)
		}
		if c.status == 200 && name != "signed with nothing in it" && !slices.Equal(asked, []string{`Hook ` + c.target[len("/v1/hooks/"):] + ` " {\"a\": 1}\r\n" application/json ""`}) {
			t.Errorf("%s: received %q", name, asked)
		}
		if c.status == 401 && c.target != "/v1/maintenance" && name != "a token that is wrong" && failure(t, got) != failure(t, refused) {
			t.Errorf("%s: %s, of no hook it is %s", name, got.body, refused.body)
		}
	}
	for _, word := range []string{"another algorithm", "expected one header", "does not match the body", "hook=signed", "who=hook:signed"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not contain %q:\n%s", word, &log)
		}
	}
	if strings.Contains(log.String(), hookSecret) || strings.Contains(log.String(), "sha256=0") {
		t.Errorf("the log contains a secret:\n%s", &log)
	}
}

// TestTimedHooks checks that a call with a signed time is identified by its signature, not
// by a header that is not signed, and that an old one is rejected.
func TestTimedHooks(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	now := s.tokens.Now()
	for name, c := range map[string]struct {
		at     time.Time
		status int
	}{"now": {now, 200}, "old": {now.Add(-gateway.MaxSignedAge - time.Minute), 401}, "early": {now.Add(gateway.MaxSignedAge + time.Minute), 401}} {
		at := strconv.FormatInt(c.at.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(hookSecret))
		mac.Write([]byte("v0:" + at + ":{}"))
		signature := hex.EncodeToString(mac.Sum(nil))
		got := s.ask("POST", "/v1/hooks/timed", withBody("application/json", "{}"), with("X-Slack-Request-Timestamp", at), with("X-Slack-Signature", "v0="+signature), with("Idempotency-Key", "another"))
		if asked := s.fake.was(); got.status != c.status || c.status == 200 && !slices.Equal(asked, []string{"Hook timed " + signature}) {
			t.Errorf("%s: %d %s, received %q", name, got.status, got.body, asked)
		}
	}
}

// failure returns the error sent to the client, without the request ID.
func failure(t *testing.T, r reply) string {
	t.Helper()
	var f wire.Failure
	if err := json.Unmarshal([]byte(r.body), &f); err != nil {
		t.Fatal(err)
	}
	f.Error.Request = ""
	return f.Error.Error()
}

// TestForwardedSigner checks that a gateway accepts a forwarded signed call for that hook
// only.
func TestForwardedSigner(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	for hook, status := range map[string]int{"signed": 200, "both": 404, "": 404} {
		w := httptest.NewRecorder()
		s.http.ServeForwarded(t.Context(), w, api.Forwarded{Method: "POST", URI: "/v1/hooks/signed", Caller: api.Principal{Name: "hook:signed", Scope: wire.ScopeHook, Hook: hook}, Body: []byte("{}")})
		if w.Code != status {
			t.Errorf("signed with %q: %d", hook, w.Code)
		}
	}
}
