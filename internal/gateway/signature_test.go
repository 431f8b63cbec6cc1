package gateway

import (
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// TestSignature checks the example in GitHub's documentation.
func TestSignature(t *testing.T) {
	const (
		header = "X-Hub-Signature-256"
		secret = "It's a Secret to Everybody"
		body   = "Hello, World!"
		right  = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	)
	s := NewSignature(SignedGitHub, header, secret)
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
		sent, err := s.Sent(textproto.MIMEHeader{header: c.sent}, time.Time{})
		call, fits := s.Verify(sent, []byte(c.body))
		if (err == nil) != c.read || err == nil && fits != c.fit || call != "" {
			t.Errorf("%s: %v, fits %t, call %q", name, err, fits, call)
		}
		if err != nil && (strings.Contains(err.Error(), right[:40]) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %v reveals too much", name, err)
		}
	}
}

// TestNoSecretNoSignature checks that without a secret no signature is accepted.
func TestNoSecretNoSignature(t *testing.T) {
	s := NewSignature(SignedGitHub, "X-Hub-Signature-256", "")
	if _, fits := s.Verify(Sent{}, nil); s != nil || fits {
		t.Error("a signature with an empty secret was accepted")
	}
	if _, err := s.Sent(nil, time.Time{}); err == nil {
		t.Error("a signature was read")
	}
	if s := NewSignature(SignedStandard, "", "whsec_"); s != nil {
		t.Error("a signature with an empty encoded secret was accepted")
	}
}

// TestTimedSignatures checks signatures with a time. Those of Standard Webhooks and Slack are
// the examples of their documentation; that of Stripe was made with openssl.
func TestTimedSignatures(t *testing.T) {
	const (
		standardBody = `{"test": 2432232314}`
		standardMAC  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		slackBody    = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
		slackMAC     = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
		stripeMAC    = "7656fc2882a7ca0a651666b36bf2f2f22ee204f54f608f227498a2419f2890b2"
	)
	standard := NewSignature(SignedStandard, "", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	slack := NewSignature(SignedSlack, "", "8f742231b10e8888abcd99yyyzzz85a5")
	stripe := NewSignature(SignedStripe, "", "whsec_test")
	zeros := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		signature *Signature
		at        int64
		// headers are names and values.
		headers []string
		body    string
		read    bool
		call    string
	}{
		"standard":                  {standard, 1614265330, []string{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, true, "msg_p5jXN8AQM9LWM0D4loKWxJek"},
		"standard, two":             {standard, 1614265330, []string{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330", "Webhook-Signature", "v2,x v1,AAAA " + standardMAC}, standardBody, true, "msg_p5jXN8AQM9LWM0D4loKWxJek"},
		"standard, old":             {standard, 1614265631, []string{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, false, ""},
		"standard, early":           {standard, 1614265029, []string{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, false, ""},
		"standard, other ID":        {standard, 1614265330, []string{"Webhook-Id", "msg_other", "Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, true, ""},
		"standard, other time":      {standard, 1614265331, []string{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265331", "Webhook-Signature", standardMAC}, standardBody, true, ""},
		"standard, no ID":           {standard, 1614265330, []string{"Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, false, ""},
		"standard, ID and a period": {standard, 1614265330, []string{"Webhook-Id", "a.b", "Webhook-Timestamp", "1614265330", "Webhook-Signature", standardMAC}, standardBody, false, ""},
		"standard, no version 1":    {standard, 1614265330, []string{"Webhook-Id", "x", "Webhook-Timestamp", "1614265330", "Webhook-Signature", "v2,AAAA"}, standardBody, false, ""},
		"standard, too many":        {standard, 1614265330, []string{"Webhook-Id", "x", "Webhook-Timestamp", "1614265330", "Webhook-Signature", strings.Repeat("v1,AAAA ", 9)}, standardBody, false, ""},
		"slack":                     {slack, 1531420618, []string{"X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", slackMAC}, slackBody, true, slackMAC[3:]},
		"slack, in capitals":        {slack, 1531420618, []string{"X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", "v0=" + strings.ToUpper(slackMAC[3:])}, slackBody, true, slackMAC[3:]},
		"slack, other body":         {slack, 1531420618, []string{"X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", slackMAC}, slackBody + "&", true, ""},
		"slack, odd time":           {slack, 1531420618, []string{"X-Slack-Request-Timestamp", "+1531420618", "X-Slack-Signature", slackMAC}, slackBody, false, ""},
		"slack, no time":            {slack, 1531420618, []string{"X-Slack-Signature", slackMAC}, slackBody, false, ""},
		"slack, huge time":          {slack, 1531420618, []string{"X-Slack-Request-Timestamp", "-9223372036854775808", "X-Slack-Signature", slackMAC}, slackBody, false, ""},
		"stripe":                    {stripe, 1492774577, []string{"Stripe-Signature", "t=1492774577,v1=" + zeros + ",v1=" + stripeMAC + ",v0=6ffbb59b"}, `{"id":"evt_1"}`, true, "evt_1"},
		"stripe, other body":        {stripe, 1492774577, []string{"Stripe-Signature", "t=1492774577,v1=" + stripeMAC}, `{"id":"evt_2"}`, true, ""},
		"stripe, two times":         {stripe, 1492774577, []string{"Stripe-Signature", "t=1,t=1492774577,v1=" + stripeMAC}, `{"id":"evt_1"}`, false, ""},
		"stripe, no signature":      {stripe, 1492774577, []string{"Stripe-Signature", "t=1492774577"}, `{"id":"evt_1"}`, false, ""},
		"stripe, empty":             {stripe, 1492774577, []string{"Stripe-Signature", ""}, `{"id":"evt_1"}`, false, ""},
		"stripe, sent twice":        {stripe, 1492774577, []string{"Stripe-Signature", "t=1", "Stripe-Signature", "t=2"}, `{"id":"evt_1"}`, false, ""},
	} {
		headers := textproto.MIMEHeader{}
		for i := 0; i < len(c.headers); i += 2 {
			headers.Add(c.headers[i], c.headers[i+1])
		}
		sent, err := c.signature.Sent(headers, time.Unix(c.at, 0))
		if (err == nil) != c.read {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if call, fits := c.signature.Verify(sent, []byte(c.body)); call != c.call || fits != (c.call != "") {
			t.Errorf("%s: fits %t, call %q", name, fits, call)
		}
	}
}

// FuzzSignature checks that headers of any form neither panic nor pass with an unknown secret.
func FuzzSignature(f *testing.F) {
	f.Add("1614265330", "v1,AAAA v0=00 t=1,v1=00", "{}")
	f.Add("-1", "t=,v1", "")
	f.Fuzz(func(t *testing.T, at, value, body string) {
		for _, format := range []string{SignedGitHub, SignedStandard, SignedSlack, SignedStripe} {
			s := NewSignature(format, "X-Hub-Signature-256", "not known to the fuzzer")
			headers := textproto.MIMEHeader{}
			for _, name := range []string{"X-Hub-Signature-256", "Webhook-Signature", "X-Slack-Signature", "Stripe-Signature"} {
				headers.Set(name, value)
			}
			for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "X-Slack-Request-Timestamp"} {
				headers.Set(name, at)
			}
			sent, err := s.Sent(headers, time.Unix(1614265330, 0))
			if _, fits := s.Verify(sent, []byte(body)); err == nil && fits {
				t.Errorf("%s: accepted %q", format, value)
			}
		}
	})
}
