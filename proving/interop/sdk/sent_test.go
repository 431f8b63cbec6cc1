package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"firn.dev/provider"
)

// sender is one of firn's clients, and a function that sends its requests with the SDK.
type sender struct {
	name  string
	model func(*http.Client) provider.Model
	// ask sends a request with firn's client; nil means to request an answer.
	ask func(context.Context, provider.Model, provider.Request) error
	// answer is the server's response to both.
	answer string
	// resend decodes a body into the SDK's type, and sends that with the SDK's client.
	resend func(context.Context, *http.Client, request) error
	// allowed are the expected differences.
	allowed []allowance
	// words maps the positions of text in a request to the words that the SDK knows there;
	// nil for free text.
	words map[string][]string
	// required are positions that must exist if their parent does.
	required []string
	// loose are the positions of members with arbitrary JSON that is not from firn.
	loose []string
}

// check sends a request with both clients, and returns the differences.
func (s sender) check(t failer, ctx context.Context, server *server, m provider.Model, req provider.Request, needed map[string]bool) (request, []difference) {
	t.Helper()
	server.play(http.StatusOK, s.answer)
	ask := s.ask
	if ask == nil {
		ask = stream
	}
	if err := ask(ctx, m, req); err != nil {
		t.Fatalf("firn cannot send it: %v", err)
	}
	sent := server.last(t)
	found, err := s.again(t, ctx, server, sent)
	if err != nil {
		t.Fatalf("they cannot send it: %v\n%s", err, sent.body)
	}
	return sent, without(found, s.allowed, needed)
}

// again sends a request with the SDK, and returns the differences.
func (s sender) again(t failer, ctx context.Context, server *server, sent request) ([]difference, error) {
	t.Helper()
	server.got = nil
	if err := s.resend(ctx, server.client, sent); err != nil {
		return nil, err
	}
	back := server.last(t)
	found, err := compare(sent.body, back.body)
	if err != nil {
		return nil, err
	}
	differ := func(what, ours, theirs string) {
		if ours != theirs {
			found = append(found, difference{"(" + what + ")", ours, theirs})
		}
	}
	differ("method", sent.method, back.method)
	differ("path", sent.path, back.path)
	differ("query", sent.query, back.query)
	for _, name := range []string{"Content-Type", "Authorization", "X-Api-Key", "Anthropic-Version", "Anthropic-Beta"} {
		differ(name, sent.header.Get(name), back.header.Get(name))
	}
	return found, nil
}

// stream requests an answer.
func stream(ctx context.Context, m provider.Model, req provider.Request) error {
	_, done, err := drain(ctx, m, req)
	if err == nil && done == nil {
		err = errors.New("there is no answer")
	}
	return err
}

// question is a request to send.
type question struct {
	name string
	req  provider.Request
}

// questions returns requests for a model: each history with every thinking level, and
// without tools.
func questions(t *testing.T, info provider.Info) []question {
	var all []question
	for name, h := range histories(info) {
		for _, level := range levels() {
			req := provider.Request{Window: h.build(info), Tools: tools(t), Thinking: level, Session: "1234-5678"}
			all = append(all, question{name + "/" + string(level), req})
		}
		bare := provider.Request{Window: h.build(info), MaxTokens: 5000}
		all = append(all, question{name + "/bare", bare})
	}
	return all
}

func senders() []sender { return slices.Concat(anthropicSenders(), openAISenders()) }

// TestSent checks that the SDKs decode firn's requests and send them again unchanged, so
// that they know every name, tag and type.
func TestSent(t *testing.T) {
	for _, s := range senders() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			m := s.model(server.client)
			needed := make(map[string]bool)
			met := make(map[string]bool)
			for _, q := range questions(t, m.Info()) {
				sent, found := s.check(t, t.Context(), server, m, q.req, needed)
				for _, d := range found {
					t.Errorf("%s: %s", q.name, d)
				}
				for _, complaint := range s.unknownWords(sent.body, met) {
					t.Errorf("%s: %s", q.name, complaint)
				}
			}
			for _, a := range s.allowed {
				if !needed[a.place] {
					t.Errorf("there is no difference any more at %s: take it off the list", a.place)
				}
			}
			for where := range s.words {
				if !met[where] {
					t.Errorf("no request has a text at %s: take it off the list, or send one", where)
				}
			}
		})
	}
}

// unknownWords returns the words of a request that the SDK does not know, and records the
// checked positions. Decoding alone does not detect them, because the SDKs' types accept
// any text.
func (s sender) unknownWords(body []byte, met map[string]bool) []string {
	v, err := decode(body)
	if err != nil {
		return []string{err.Error()}
	}
	var complaints []string
	walk("", v, func(path string, v any) bool {
		where := place(path)
		if slices.Contains(s.loose, where) {
			return false
		}
		word, ok := v.(string)
		if !ok {
			return true
		}
		met[where] = true
		known, listed := s.words[where]
		switch {
		case !listed:
			complaints = append(complaints, fmt.Sprintf("%s: a text that no list tells of: %.100q", path, word))
		case known != nil && !slices.Contains(known, word):
			complaints = append(complaints, fmt.Sprintf("%s: the SDK knows %q, not %q", path, known, word))
		}
		return true
	})
	return complaints
}

// walk calls f with every value; f reports whether to descend into it.
func walk(path string, v any, f func(path string, v any) bool) {
	if !f(path, v) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			walk(strings.TrimPrefix(path+"."+name, "."), member, f)
		}
	case []any:
		for i, e := range v {
			walk(fmt.Sprintf("%s[%d]", path, i), e, f)
		}
	}
}

// understand decodes a body into a type of an SDK. It fails if the SDK did not understand
// all of it.
func understand(body []byte, params any) error {
	if err := json.Unmarshal(body, params); err != nil {
		return err
	}
	return understood(reflect.ValueOf(params), "params")
}

// understood returns an error for parts of an SDK value that were not understood: raw JSON
// in lists, and missing required members.
func understood(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return understood(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := understood(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if p, ok := v.Interface().(interface{ Overrides() (any, bool) }); ok {
			if raw, ok := p.Overrides(); ok {
				return fmt.Errorf("the SDK does not know %s: %.200s", path, raw)
			}
		}
		for i := range v.NumField() {
			if err := understoodField(v.Field(i), v.Type().Field(i), path); err != nil {
				return err
			}
		}
	}
	return nil
}

func understoodField(v reflect.Value, field reflect.StructField, path string) error {
	if !field.IsExported() {
		return nil
	}
	path += "." + field.Name
	if field.Tag.Get("api") == "required" && strings.Contains(field.Tag.Get("json"), ",omitzero") && v.IsZero() {
		return fmt.Errorf("the SDK requires %s, which is missing", path)
	}
	if v.IsZero() {
		return nil
	}
	return understood(v, path)
}

// words returns a list of the SDK's constants.
func words[T ~string](constants ...T) []string {
	list := make([]string, len(constants))
	for i, c := range constants {
		list[i] = string(c)
	}
	return list
}
