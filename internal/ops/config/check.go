package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/adhocore/gronx"

	"firn.dev/internal/base/pattern"
)

// checks are the validators of text values, by kind. Their errors describe the expected
// value. They never quote values that may contain a secret.
var checks = map[string]func(text string) error{
	"path":     checkPath,
	"id":       checkID,
	"channel":  checkChannel,
	"model":    checkModel,
	"variable": checkVariable,
	"url":      checkURL,
	"gateway":  checkGateway,
	"listen":   checkListen,
	"host":     checkHost,
	"origin":   checkOrigin,
	"header":   checkHeader,
	"store":    checkStore,
	"space":    checkSpace,
	"zone":     checkZone,
	"schedule": checkSchedule,
	"template": checkTemplate,
	"protocol": checkProtocol,
}

// checkText validates a text of a kind. A kind without a validator accepts any text.
func checkText(kind, text string) error {
	if check := checks[kind]; check != nil {
		return check(text)
	}
	return nil
}

// protocols are the values of gateway.protocols.
var protocols = []string{"openai", "anthropic", "ag-ui", "mcp"}

func checkProtocol(text string) error {
	if !slices.Contains(protocols, text) {
		return fmt.Errorf("unknown protocol %s, expected %s", quoted(text), strings.Join(protocols, ", "))
	}
	return nil
}

func checkPath(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("a path must not contain NUL")
	}
	if len(text) > 1 && text[0] == '~' && text[1] != '/' && text[1] != '\\' {
		return fmt.Errorf("got %s: ~ expands only to your own home directory", quoted(text))
	}
	return nil
}

var idForm = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func checkID(text string) error {
	if !idForm().MatchString(text) {
		return fmt.Errorf("got %s, expected lower-case letters, digits, - and _, at most 64, not starting with - or _", quoted(text))
	}
	return nil
}

func checkChannel(text string) error {
	if text == "" || text != strings.ToLower(text) || strings.ContainsAny(text, " \t\r\n:") {
		return fmt.Errorf("got %s, expected the name of a channel in lower case", quoted(text))
	}
	return nil
}

func checkModel(text string) error {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || checkID(provider) != nil || model == "" || strings.ContainsAny(model, " \t\r\n") {
		return fmt.Errorf("got %s, expected provider/model", quoted(text))
	}
	return nil
}

var variableForm = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

func checkVariable(text string) error {
	if !variableForm().MatchString(text) {
		return errors.New("not the name of an environment variable (do not put its value here)")
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("expected a URL that starts with http:// or https://")
	case u.User != nil:
		return errors.New("a URL in the settings must not contain a password; set a variable or file that holds it")
	}
	return nil
}

func checkGateway(text string) error {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if path == "" {
			return errors.New("unix: needs the path of a socket")
		}
		return nil
	}
	if checkURL(text) != nil {
		return errors.New("expected an http:// or https:// URL without a password, or unix: and the path of a socket")
	}
	return nil
}

func checkListen(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return fmt.Errorf("got %s, expected an address and a port, such as 127.0.0.1:7766", quoted(text))
	}
	if _, err := net.LookupPort("tcp", port); err != nil || strings.Trim(port, "0123456789") != "" {
		return fmt.Errorf("got %s: invalid port %s", quoted(text), quoted(port))
	}
	return nil
}

// loopback reports whether a listen address is reachable from this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func checkHost(text string) error {
	if text != strings.ToLower(text) || strings.ContainsAny(text, " \t\r\n/@*") {
		return fmt.Errorf("got %s, expected a host name in lower case", quoted(text))
	}
	return nil
}

var headerForm = pattern.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func checkHeader(text string) error {
	if !headerForm().MatchString(text) {
		return errors.New("expected the name of a header, such as X-Hub-Signature-256")
	}
	if slices.ContainsFunc([]string{"authorization", "cookie", "host", "content-type", "content-length"}, func(taken string) bool { return strings.EqualFold(text, taken) }) {
		return fmt.Errorf("%s is reserved", text)
	}
	return nil
}

func checkOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || text != u.Scheme+"://"+u.Host {
		return errors.New("expected an origin such as https://example.org, without a path")
	}
	return nil
}

func checkZone(text string) error {
	if _, err := time.LoadLocation(text); err != nil {
		return fmt.Errorf("unknown time zone %s; use a name such as Europe/Berlin", quoted(text))
	}
	return nil
}

func checkSchedule(text string) error {
	fields := len(strings.Fields(text))
	if !strings.HasPrefix(text, "@") && fields != 5 || !gronx.IsValid(text) {
		return fmt.Errorf("got %s, expected five crontab fields (minute, hour, day, month, weekday), such as \"30 7 * * 1-5\", or @hourly, @daily, @weekly, @monthly", quoted(text))
	}
	return nil
}

func checkTemplate(text string) error {
	if _, err := template.New("template").Parse(text); err != nil {
		return fmt.Errorf("invalid template: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return nil
}

// badKey is the error for an unknown key.
type badKey struct{ message, hint string }

func (b *badKey) Error() string {
	if b.hint == "" {
		return b.message
	}
	return b.message + "; " + b.hint
}

// secretKeys matches key names that suggest a secret.
var secretKeys = pattern.New(`^(api_?)?(key|token)$|secret|passw|^auth|credential|^headers?$|bearer`)

// unknownKey returns the error for an unknown key, with a suggestion.
func unknownKey(s *spec, path []string, key string) *badKey {
	bad := &badKey{message: "unknown setting"}
	if secretKeys().MatchString(snake(key)) {
		bad.message = "secrets must not be in the settings"
		bad.hint = secretHint(s)
		return bad
	}
	if near := nearest(key, s.keys()); near != "" {
		bad.hint = didYouMean(joinPath(append(path[:len(path):len(path)], near)))
	} else if elsewhere := findByKey(snake(key)); elsewhere != "" {
		bad.hint = didYouMean(elsewhere)
	}
	return bad
}

// secretHint returns the hint where to put a secret of a table.
func secretHint(s *spec) string {
	var names []string
	for _, m := range s.members {
		if strings.HasSuffix(m.key, "_env") || strings.HasSuffix(m.key, "_file") && m.key != "system_file" {
			names = append(names, m.key)
		}
	}
	if len(names) == 0 {
		return "put it into an environment variable or a file"
	}
	return "set a variable or file that holds it: " + strings.Join(names, ", ")
}

// findByKey returns the path of the first setting whose last segment is key.
func findByKey(key string) string {
	for _, f := range Schema() {
		if at := strings.LastIndexByte(f.Path, '.'); f.Path[at+1:] == key {
			return f.Path
		}
	}
	return ""
}
