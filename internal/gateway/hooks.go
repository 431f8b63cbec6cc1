package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/textproto"
	"net/url"
	"strings"
	"text/template"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// Hook is an endpoint that other programs call to send a message to an agent.
type Hook struct {
	// Token is the name of the token that authorizes calls; empty means none.
	Token string
	// Signature authorizes signed calls without a token; nil means none.
	Signature *Signature
	// Agent receives the message; empty means the default. Model is the model of sessions
	// that the hook starts; empty means the agent's.
	Agent, Model string
	// Key is the key of the session that receives the calls. Empty means a new session per
	// call, under hook:<uuid>.
	Key string
	// Template converts the JSON body to the message text; empty means {{.text}}. Numbers
	// are inserted as text, missing members as nothing.
	Template string
	Enabled  bool
}

// causeHook is the reset cause of sessions started by hooks.
const causeHook route.Cause = "hook"

// MaxHookBody is the maximum size of a hook's body, maxHookText that of the message text,
// in bytes.
const (
	MaxHookBody = 1 << 20
	maxHookText = 64 << 10
)

// HookToken returns the name of a hook's token. It returns NotFound if the hook does not
// exist or is disabled.
func (g *inbox) HookToken(name string) (string, error) {
	h, err := g.setup.Load().hook(name)
	return h.Token, err
}

func (s *Setup) hook(name string) (Hook, error) {
	h, ok := s.Hooks[name]
	if !ok || !h.Enabled {
		return h, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown hook %q", view.Clip(name)), Hint: "hooks are set as [hooks.<name>] in the settings"}
	}
	return h, nil
}

// hookKey returns the key of the session that receives a call, and whether the session is
// for this call only.
func (s *Setup) hookKey(h Hook, call string) (k route.Key, own bool, err error) {
	owner := h.Agent
	if owner == "" {
		owner = s.Default
	}
	if _, err := s.agent(owner); err != nil {
		return k, false, err
	}
	if h.Key == "" {
		k, err = route.Parts{Agent: owner, Kind: route.KindHook, Peer: call}.Key()
		return k, true, err
	}
	c := s.Route
	c.Default = owner
	if k, err = c.Key(h.Key); err == nil {
		_, err = s.agent(k.Agent())
	}
	return k, false, err
}

// checkHook rejects an invalid hook.
func (s *Setup) checkHook(name string, h Hook) error {
	if _, _, err := s.hookKey(h, "x"); err != nil {
		return fmt.Errorf("hook %s: %w", name, err)
	}
	if _, err := h.template(); err != nil {
		return fmt.Errorf("hook %s: %w", name, err)
	}
	return nil
}

// Hook handles a call of another program: the template converts the body to a message for
// an agent. The message is recorded as a machine message and is durable when Hook returns;
// Hook does not wait for the answer. A call with an ID header, which many programs send, is
// accepted once.
//
// The caller must authorize the request.
func (g *inbox) Hook(ctx context.Context, name string, body []byte, headers textproto.MIMEHeader) (wire.Routed, error) {
	setup := g.setup.Load()
	h, err := setup.hook(name)
	if err != nil {
		return wire.Routed{}, err
	}
	if challenge := h.Signature.Challenge(body); challenge != "" {
		return wire.Routed{Challenge: challenge}, nil
	}
	text, err := h.text(body, headers.Get("Content-Type"))
	if err != nil {
		return wire.Routed{}, &wire.Problem{Kind: kindOfHook(err), Message: fmt.Sprintf("call hook %s: %v", name, err), Hint: "see the template of the hook in the settings"}
	}
	call, named := callID(name, headers)
	k, own, err := setup.hookKey(h, call)
	if err != nil {
		return wire.Routed{}, err
	}
	out := wire.Routed{Key: k.String(), Message: firn.EntryID("hook-" + call)}
	unlock := g.locks.lock(out.Key)
	defer unlock()
	if out.Session, err = g.hookSession(ctx, k, out.Message, own && !named, h, name); err != nil {
		return out, fmt.Errorf("call hook %s: %w", name, err)
	}
	if named {
		if out.Repeated, err = g.hasMessage(ctx, out.Session, out.Message); err != nil || out.Repeated {
			return out, err
		}
	}
	if _, err = g.postMachineText(ctx, out.Session, "hook:"+name, text, out.Message); err != nil {
		err = fmt.Errorf("call hook %s: %w", name, err)
	}
	return out, err
}

// hookSession finds or starts the session that receives a call.
func (g *inbox) hookSession(ctx context.Context, k route.Key, call firn.EntryID, fresh bool, h Hook, name string) (firn.ID, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	if !fresh {
		id, err := keyed.Lookup(ctx, k.String())
		if err == nil {
			if away, err := g.remover.removedFor(ctx, id, call); err != nil || !away {
				return id, err
			}
		} else if !errors.Is(err, firn.ErrNotFound) {
			return "", err
		}
	}
	return g.startMachineSession(ctx, k, causeHook, name, h.Model)
}

// callHeaders are the headers with which programs identify their calls, so that retries are
// recognized.
var callHeaders = []string{"Idempotency-Key", "Webhook-Id", "X-GitHub-Delivery", "X-Gitlab-Event-UUID", "X-Gitea-Delivery"}

// callID returns the ID of a call in UUID form: derived from its ID header, or a new one.
func callID(hook string, headers textproto.MIMEHeader) (id string, named bool) {
	for _, h := range callHeaders {
		if v := strings.TrimSpace(headers.Get(h)); v != "" {
			sum := sha256.Sum256([]byte(hook + "\x00" + h + "\x00" + v))
			x := hex.EncodeToString(sum[:16])
			return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-"), true
		}
	}
	return string(firn.NewID()), false
}

// errTooLong stops a template.
var errTooLong = fmt.Errorf("the message is too long: %w", firn.ErrTooLarge)

func kindOfHook(err error) wire.Kind {
	if errors.Is(err, firn.ErrTooLarge) {
		return wire.TooLarge
	}
	return wire.Invalid
}

// text converts a body to the message text.
func (h Hook) text(body []byte, contentType string) (string, error) {
	if len(body) > MaxHookBody {
		return "", fmt.Errorf("the body has %d bytes; the limit is %d: %w", len(body), MaxHookBody, firn.ErrTooLarge)
	}
	data, err := hookData(body, contentType)
	if err != nil {
		return "", err
	}
	t, err := h.template()
	if err != nil {
		return "", err
	}
	out := bounded{left: maxHookText}
	if err := t.Execute(&out, data); err != nil {
		if errors.Is(err, errTooLong) {
			return "", errTooLong
		}
		return "", fmt.Errorf("the body does not match the template: %w", err)
	}
	text := strings.TrimSpace(strings.ReplaceAll(out.text.String(), "<no value>", ""))
	if text == "" {
		return "", errors.New("the template produced no text")
	}
	return text, nil
}

// hookData parses a body: JSON, a form, or plain text, which becomes the member text of an
// object.
func hookData(body []byte, contentType string) (any, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err == nil && kind == "text/plain" {
		if !utf8.Valid(body) {
			return nil, errors.New("the body is not UTF-8")
		}
		return map[string]any{"text": string(body)}, nil
	}
	if err == nil && kind == "application/x-www-form-urlencoded" {
		return formData(body)
	}
	if err := rawjson.CheckUnique(body, false); err != nil {
		return nil, fmt.Errorf("the body was rejected: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers keep their form, and a template cannot count up to one
	var data any
	if err := d.Decode(&data); err != nil {
		return nil, errors.New("the body is not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body has data after the JSON value")
	}
	return data, nil
}

// formData parses a form, as of Slack's commands. Of a field that is sent several times, the
// first value counts.
func formData(body []byte) (any, error) {
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("the body is not a form")
	}
	data := make(map[string]any, len(fields))
	for name, values := range fields {
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return nil, errors.New("the body is not UTF-8")
		}
		data[name] = values[0]
	}
	return data, nil
}

// template parses the template of a hook. It has only the built-in functions, with printf
// limited to short formats.
func (h Hook) template() (*template.Template, error) {
	text := h.Template
	if text == "" {
		text = "{{.text}}"
	}
	t, err := template.New("hook").Funcs(template.FuncMap{"printf": boundedSprintf}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w template: %s", firn.ErrInvalid, strings.TrimPrefix(err.Error(), "template: "))
	}
	return t, nil
}

// wideFormat matches formats that expand to a large output.
var wideFormat = pattern.New(`[0-9]{4}|\*`)

// boundedSprintf is Sprintf for untrusted formats.
func boundedSprintf(format string, args ...any) (string, error) {
	if len(format) > 1<<10 || wideFormat().MatchString(format) {
		return "", errors.New("printf: the format or a width is too long")
	}
	return fmt.Sprintf(format, args...), nil
}

// bounded is a writer that accepts text up to a length.
type bounded struct {
	text strings.Builder
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooLong
	}
	b.left -= len(p)
	return b.text.Write(p)
}
