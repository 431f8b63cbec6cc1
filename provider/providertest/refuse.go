package providertest

import (
	"errors"
	"net/http"
	"time"

	"firn.dev/provider"
)

func refuseTests() []test {
	http := []Lack{NoScript, NoHTTP}
	return []test{
		{name: "by status", run: testStatus, needs: http},
		{name: "by status, with Retry-After", run: testWait, needs: http},
		{name: "answers that make no sense", run: testNonsense, needs: http},
	}
}

func testStatus(s *suite) {
	refusal := `{"type":"error","error":{"type":"some_error","message":"No, not with ` + Key + `."}}`
	tests := []struct {
		status int
		body   string
		kind   provider.Kind
	}{
		{400, refusal, provider.BadRequest},
		{401, refusal, provider.Auth},
		{403, refusal, provider.Auth},
		{404, refusal, provider.BadRequest},
		{413, refusal, provider.Overflow},
		{429, refusal, provider.Temporary},
		{500, refusal, provider.Temporary},
		{502, "<html><body><h1>Bad gateway</h1></body></html>", provider.Temporary},
		{503, "", provider.Temporary},
		{529, refusal, provider.Temporary},
		{204, "", provider.BadRequest},
	}
	for _, tt := range tests {
		s.play.set(Part{Status: tt.status, Body: tt.body})
		o := s.ask(s.ctx, s.request("Hello."))
		var e *provider.Error
		if !errors.As(o.err, &e) {
			s.Errorf("status %d: the error is %v", tt.status, o.err)
			continue
		}
		if e.Kind != tt.kind || e.Status != tt.status || e.Partial {
			s.Errorf("status %d: kind %s, status %d, began %v; want kind %s", tt.status, e.Kind, e.Status, e.Partial, tt.kind)
		}
		if n := s.play.requests(); n != 1 {
			s.Errorf("status %d: asked %d times; a model does not retry", tt.status, n)
		}
	}
}

func testWait(s *suite) {
	s.play.set(Part{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: `{"error":{"message":"slow down"}}`})
	o := s.ask(s.ctx, s.request("Hello."))
	var e *provider.Error
	if !errors.As(o.err, &e) || e.RetryAfter != 7*time.Second {
		s.Errorf("the error is %+v, want a delay of 7 seconds", o.err)
	}
}

// testNonsense checks that a malformed answer with status 200 is a temporary failure.
func testNonsense(s *suite) {
	for _, body := range []string{
		"", "\n\n", "<html><title>Please log in</title></html>", "null", "{}", "[]",
		"data: \n\n", "data: null\n\n", "data: {\n\n", "data: []\n\n", "data: 7\n\n", "data: {}\n\n", `data: {"type":7}` + "\n\n",
		`data: {"type":"nobody knows","choices":7,"response":[]}` + "\n\n", "event: x\ndata: \xff\xfe\n\n", ": comment\n\n",
	} {
		s.play.set(Part{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body})
		if o := s.ask(s.ctx, s.request("Hello.")); provider.KindOf(o.err) != provider.Temporary {
			s.Errorf("body %q: the outcome is %v, %v; want a temporary failure", body, o.done, o.err)
		}
	}
}
