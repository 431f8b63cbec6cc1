package provider

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// notice is the content of an error response.
type notice struct {
	// text is the provider's message, sanitized but not truncated.
	text string
	// names are the provider's error codes, most specific first.
	names []string
	// status is the HTTP status stated in the body, if any.
	status int
	// delay is the retry delay stated in the body, if any.
	delay time.Duration
	// daily is set if the daily quota is exhausted.
	daily bool
	// empty is set if there was no body.
	empty bool
}

// called reports whether one of the names is an error code of the failure.
func (n notice) called(names ...string) bool {
	return slices.ContainsFunc(n.names, func(name string) bool { return slices.Contains(names, name) })
}

// The maximum number of characters that an error keeps of a message and of a name.
const (
	maxMessage = 500
	maxName    = 80
)

// asError converts a notice to an error without a kind.
func (n notice) asError(provider, model string) *Error {
	e := &Error{Provider: provider, Model: model, Message: cut(n.text, maxMessage)}
	if len(n.names) > 0 {
		e.Code = cut(n.names[0], maxName)
	}
	return e
}

// readNotice parses an error response: JSON in one of many forms, an HTML page, or text.
func readNotice(body []byte) notice {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return notice{empty: true}
	}
	var n notice
	if body[0] == '{' || body[0] == '[' || body[0] == '"' {
		n.json(body, 0)
	}
	if n.text == "" && len(n.names) == 0 {
		n.text = plain(string(body))
	}
	n.text = tidy(n.text)
	return n
}

// maxNesting limits the depth of nested messages.
const maxNesting = 8

// json parses one value: an error, or a value that contains one.
func (n *notice) json(raw json.RawMessage, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > maxNesting {
		return
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			n.message(s, depth)
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			n.json(list[0], depth+1)
		}
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) == nil {
			n.object(members, depth)
		}
	}
}

// object parses the members of an object. Nested errors take precedence, because gateways
// wrap the original error.
func (n *notice) object(members map[string]json.RawMessage, depth int) {
	for _, name := range []string{"response", "error", "metadata", "raw"} {
		n.json(members[name], depth+1)
	}
	for _, name := range []string{"message", "msg", "detail", "error_description", "title"} {
		if n.text == "" {
			n.json(members[name], depth+1)
		}
	}
	for _, name := range []string{"code", "type", "status", "error_type"} {
		n.name(members[name])
	}
	n.details(members["details"])
}

// message adds a text, which may itself be JSON.
func (n *notice) message(s string, depth int) {
	if n.text != "" {
		return
	}
	if t := strings.TrimSpace(s); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		n.json(json.RawMessage(t), depth+1)
	}
	if n.text == "" {
		n.text = plain(s)
	}
}

// name adds a code, type or status, which is a string or a number.
func (n *notice) name(raw json.RawMessage) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	s = tidy(s)
	if code, err := strconv.Atoi(s); err == nil && code >= 400 && code < 600 {
		if n.status == 0 {
			n.status = code
		}
		return
	}
	if s != "" && s != "null" && s != "error" && s[0] != '{' && s[0] != '[' {
		n.names = append(n.names, s)
	}
}

// details parses Google's error details: the reason, the retry delay and the exceeded
// quota.
func (n *notice) details(raw json.RawMessage) {
	var list []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, d := range list {
		if reason := tidy(d.Reason); reason != "" {
			n.names = append(n.names, reason)
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			n.delay = max(n.delay, wait)
		}
		for _, v := range d.Violations {
			n.daily = n.daily || strings.Contains(v.QuotaID, "PerDay")
		}
	}
}

var (
	htmlTitle = pattern.New(`(?is)<title[^>]*>(.*?)</title>`)
	htmlNoise = pattern.New(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->|<[^>]*>`)
)

// plain extracts the text of an HTML page. Other text is returned unchanged.
func plain(s string) string {
	low := strings.ToLower(firn.CutText(strings.TrimSpace(s), 200))
	if !strings.HasPrefix(low, "<!doctype") && !strings.Contains(low, "<html") && !strings.Contains(low, "<head") && !strings.Contains(low, "<body") {
		return s
	}
	if m := htmlTitle().FindStringSubmatch(s); m != nil && strings.TrimSpace(m[1]) != "" {
		return html.UnescapeString(m[1])
	}
	return html.UnescapeString(htmlNoise().ReplaceAllString(s, " "))
}

// tidy reduces a text to one line without keys and control characters.
func tidy(s string) string {
	s, _ = firn.CleanText(s)
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return redact(strings.Join(strings.Fields(s), " "))
}

// secret matches text that looks like an API key, which providers often repeat. Ordinary
// words can match too, but contain no digits.
var secret = pattern.New(`(?i)\b(?:sk|pk|rk|gsk|xai|hf|gh[a-z]|nvapi|r8|fw|csk|pplx|tgp)[-_][\w*.-]{8,}` +
	`|\bAIza[\w-]{10,}|\bAKIA\w{12,}|\beyJ[\w-]{8,}\.[\w.-]+` +
	`|\b(?:bearer|basic)\s+[\w.~+/=*-]{8,}` +
	`|\b(?:api[-_ ]?key|key|token|secret|password)\s*[=:]\s*['"]?[\w.~+/=*-]{8,}`)

// redacted replaces a key.
const redacted = "[key]"

// redact replaces everything that looks like a key.
func redact(s string) string {
	return secret().ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasPrefix(found, "sk-") || strings.ContainsAny(found, "0123456789*") {
			return redacted
		}
		return found
	})
}

// cut truncates a text to n characters.
func cut(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
