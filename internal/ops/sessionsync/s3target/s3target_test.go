package s3target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/failure"
)

// newBucket returns a bucket of a server with the given handler.
func newBucket(t *testing.T, handle http.HandlerFunc) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	b, err := New(Options{Bucket: "bucket", Prefix: "a/b", Endpoint: server.URL, Region: "us-east-1", Pause: time.Microsecond, MaxFile: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refuse answers with an error of S3.
func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

// TestErrors checks the kind, the sentence and the hint of errors, and that no error that
// concerns everything looks like a missing file.
func TestErrors(t *testing.T) {
	cases := []struct {
		status     int
		code       string
		kind       error
		text, hint string
	}{
		{404, "NoSuchKey", firn.ErrNotFound, "x is not on the target", ""},
		{404, "NoSuchBucket", firn.ErrUnavailable, "there is no bucket bucket on ", "create it"},
		{403, "InvalidAccessKeyId", fs.ErrPermission, "rejected the S3 credentials (InvalidAccessKeyId)", "AWS_PROFILE"},
		{403, "SignatureDoesNotMatch", fs.ErrPermission, "rejected the S3 credentials", "AWS_SECRET_ACCESS_KEY"},
		{403, "AccessDenied", fs.ErrPermission, "read x: the credentials do not permit it", "s3:GetObject"},
		{403, "RequestTimeTooSkewed", firn.ErrUnavailable, "the clock of this machine is wrong", "set the clock"},
		{400, "AuthorizationHeaderMalformed", firn.ErrUnavailable, "the bucket bucket is in another region", "--region REGION"},
		{503, "SlowDown", firn.ErrUnavailable, "has a problem (SlowDown)", "try again later"},
		{500, "InternalError", firn.ErrUnavailable, "has a problem (InternalError)", "try again later"},
		{405, "MethodNotAllowed", nil, "read x: no (MethodNotAllowed)", ""},
	}
	for _, c := range cases {
		b := newBucket(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, c.status, c.code) })
		_, err := b.Get(t.Context(), "x")
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(failure.Hint(err), c.hint) {
			t.Errorf("%s: %v, hint %q", c.code, err, failure.Hint(err))
		}
		if c.code != "NoSuchKey" && errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s is taken for a missing file", c.code)
		}
	}
}

// TestUnreachable asks a server that does not listen, and one whose certificate is unknown. The
// error has no signature in it.
func TestUnreachable(t *testing.T) {
	b := newBucket(t, nil)
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for endpoint, want := range map[string]string{"http://" + basetest.DeadAddress(t): "cannot be reached", tls.URL: "certificate of"} {
		o := b.o
		o.Endpoint = endpoint
		other, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.All(t.Context())
		if !errors.Is(err, firn.ErrUnavailable) || !strings.Contains(err.Error(), want) || failure.Hint(err) == "" || strings.Contains(err.Error(), "Signature") {
			t.Errorf("%s: %v, hint %q", endpoint, err, failure.Hint(err))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.All(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestNoCredentials sends no request without credentials.
func TestNoCredentials(t *testing.T) {
	b := newBucket(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if err := b.Put(t.Context(), "x", nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(failure.Hint(err), "AWS_ACCESS_KEY_ID") {
		t.Errorf("%v, hint %q", err, failure.Hint(err))
	}
}

// TestPut creates files on servers that know the condition, know it and have the file, do not
// know it, or have a conflict for a while.
func TestPut(t *testing.T) {
	cases := map[string]struct {
		put  func(n int, conditional bool) (status int, code string)
		want string
	}{
		"created":           {func(int, bool) (int, string) { return 200, "" }, "HEAD PUT*"},
		"created meanwhile": {func(int, bool) (int, string) { return 412, "PreconditionFailed" }, "HEAD PUT*"},
		"an unknown condition": {func(_ int, conditional bool) (int, string) {
			if conditional {
				return 501, "NotImplemented"
			}
			return 200, ""
		}, "HEAD PUT* PUT"},
		"a conflict": {func(n int, _ bool) (int, string) {
			if n == 1 {
				return 409, "ConditionalRequestConflict"
			}
			return 200, ""
		}, "HEAD PUT* HEAD PUT*"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var seen []string
			puts := 0
			b := newBucket(t, func(w http.ResponseWriter, r *http.Request) {
				what := r.Method
				if r.Header.Get("If-None-Match") == "*" {
					what += "*"
				}
				seen = append(seen, what)
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				if r.URL.Path != "/bucket/a/b/x" {
					t.Errorf("the path is %s", r.URL.Path)
				}
				_, _ = io.Copy(io.Discard, r.Body) // the test looks at the requests only
				puts++
				if status, code := c.put(puts, what == "PUT*"); status != 200 {
					refuse(w, status, code)
				}
			})
			if err := b.Put(t.Context(), "x", []byte("data")); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(seen, " "); got != c.want {
				t.Errorf("the requests are %s, want %s", got, c.want)
			}
		})
	}
}

// TestPutExisting sends nothing for a file that exists.
func TestPutExisting(t *testing.T) {
	b := newBucket(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("a request %s", r.Method)
		}
		w.Header().Set("Last-Modified", "Wed, 18 Nov 2026 09:00:00 GMT")
		w.Header().Set("ETag", `"x"`)
	})
	if err := b.Put(t.Context(), "x", []byte("data")); err != nil {
		t.Fatal(err)
	}
}

// TestGetCut reads a file again whose response was cut, and refuses one that is too large. The
// bandwidth is limited.
func TestGetCut(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 900)
	n := 0
	b := newBucket(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Wed, 18 Nov 2026 09:00:00 GMT")
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if n++; n == 1 {
			_, _ = w.Write(content[:100]) // it is cut anyway
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(content) // the client checks it
	})
	limited := 0
	b.o.Reader = func(_ context.Context, from io.Reader) io.Reader { limited++; return from }
	if data, err := b.Get(t.Context(), "x"); err != nil || !bytes.Equal(data, content) || n != 2 || limited != 2 {
		t.Errorf("%d bytes after %d requests, limited %d times: %v", len(data), n, limited, err)
	}
	content = bytes.Repeat([]byte("x"), 1001)
	if _, err := b.Get(t.Context(), "x"); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
}

// TestAll lists files below the prefix, in two pages of which one is repeated after an error.
func TestAll(t *testing.T) {
	failed := false
	b := newBucket(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("prefix") != "a/b/" {
			t.Errorf("the prefix is %q", q.Get("prefix"))
		}
		const page = `<ListBucketResult><IsTruncated>%v</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>a/b/%s</Key></Contents><Contents><Key>a/b/d/</Key></Contents></ListBucketResult>`
		switch {
		case q.Get("continuation-token") == "":
			fmt.Fprintf(w, page, true, "one")
		case !failed:
			failed = true
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprintf(w, page, false, "d/two")
		}
	})
	names, err := b.All(t.Context())
	if got := strings.Join(names, " "); err != nil || got != "one d/two" {
		t.Errorf("the names are %q, %v", got, err)
	}
}

// TestEndpoint rejects addresses that are not the URL of a server.
func TestEndpoint(t *testing.T) {
	for _, bad := range []string{"host", "ftp://host", "https://", "https://user:secret@host", "https://host/path", "https://host?x=1", "http://[::1", "https://ho st"} {
		if _, err := New(Options{Endpoint: bad}); !errors.Is(err, firn.ErrInvalid) || failure.Hint(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
