package tool_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

func TestWebFetch(t *testing.T) {
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		})
	}
	serve("/page", "text/html; charset=utf-8", "<html><head><title>The title</title><style>p{}</style></head><body><h2>Head</h2><p>One <b>two</b>\n three<p>See <a href='https://example.org/x'>this</a>.<script>alert(1)</script><ul><li>item</ul>")
	serve("/plain", "text/plain", "as <it> is\n")
	serve("/image", "image/png", "\x89PNG\r\n\x1a\nrest")
	serve("/binary", "application/octet-stream", "a\x00b")
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	fetch := tool.WebFetch(tool.FetchOptions{Private: true})

	page := call(t, fetch, args{"url": srv.URL + "/page"})
	has(t, page, "The title\n", "## Head\n", "One two three\n", "this (https://example.org/x).", "- item", "status 200")
	lacks(t, page, "alert", "p{}", "<")
	has(t, call(t, fetch, args{"url": srv.URL + "/away"}), "as <it> is", "/plain")
	r := result(t, fetch, args{"url": srv.URL + "/image"})
	if image, ok := r.Parts[1].(firn.Image); !ok || image.MimeType != "image/png" {
		t.Errorf("the image is %v", r.Parts)
	}
	if r := result(t, fetch, args{"url": srv.URL + "/missing"}); !r.IsError {
		t.Error("a missing page does not return an error")
	}
	has(t, fails(t, fetch, args{"url": srv.URL + "/binary"}).Error(), "binary")
	has(t, fails(t, fetch, args{"url": srv.URL + "/loop"}).Error(), "redirects")
	for _, bad := range []string{"file:///etc/passwd", "ftp://example.org", "http://", "http://user:secret@127.0.0.1/", "example.org", "http://[::1"} {
		if err := fails(t, fetch, args{"url": bad}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestWebFetchStaysOutside checks that addresses of this machine are refused, by number, by
// name and in redirects.
func TestWebFetchStaysOutside(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer srv.Close()
	fetch := tool.WebFetch(tool.FetchOptions{})
	port := srv.URL[len("http://127.0.0.1"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0.0.0.0", "169.254.169.254", "10.0.0.1", "192.168.1.1", "100.64.0.1", "[fd00::1]", "[fe80::1]", "[64:ff9b::7f00:1]"} {
		err := fails(t, fetch, args{"url": "http://" + host + port})
		if host != "127.1" && !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v", host, err)
		}
	}
	has(t, fails(t, tool.WebFetch(tool.FetchOptions{Private: true, Hosts: []string{"*.example.org"}}), args{"url": srv.URL}).Error(), "not among those")
}
