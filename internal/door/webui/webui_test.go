package webui

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func files() fstest.MapFS {
	return fstest.MapFS{
		"index.html": {Data: []byte(`<script type="module" src="/assets/app.js"></script><link href="/assets/app.css">`)},
		"app.js":     {Data: []byte(strings.Repeat("console.log(1);\n", 500))},
		"app.css":    {Data: []byte("p{}")},
		"icon.svg":   {Data: []byte("<svg/>")},
	}
}

// fetch sends a request to a real server without decompressing the response.
func fetch(t *testing.T, base, method, path string, head ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var from io.Reader = answer.Body
	if answer.Header.Get("Content-Encoding") == "gzip" && method == http.MethodGet {
		if from, err = gzip.NewReader(from); err != nil {
			t.Fatal(err)
		}
	}
	body, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

var asset = regexp.MustCompile(`/assets/[a-z]+-[0-9a-f]{12}\.[a-z]+`)

func TestHashedFilesAreCached(t *testing.T) {
	s := httptest.NewServer(serve(files()))
	defer s.Close()
	_, index := fetch(t, s.URL, "GET", "/")
	names := asset.FindAllString(index, -1)
	if len(names) != 2 {
		t.Fatalf("the index is %s", index)
	}
	script, body := fetch(t, s.URL, "GET", names[0])
	if script.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || script.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || body != string(files()["app.js"].Data) {
		t.Errorf("%v", script.Header)
	}
	if style, _ := fetch(t, s.URL, "GET", names[1]); style.Header.Get("Content-Type") != "text/css; charset=utf-8" || style.StatusCode != 200 {
		t.Errorf("%v", style.Header)
	}
	if plain, _ := fetch(t, s.URL, "GET", "/assets/app.js"); plain.StatusCode != 200 || plain.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("by its plain name: %v", plain.Header)
	}
	// Changed content has a different name.
	changed := files()
	changed["app.js"].Data = append(changed["app.js"].Data, '\n')
	other := httptest.NewServer(serve(changed))
	defer other.Close()
	if _, again := fetch(t, other.URL, "GET", "/"); strings.Contains(again, names[0]) || !strings.Contains(again, names[1]) {
		t.Errorf("the index is %s", again)
	}
}

func TestCompressionAndETags(t *testing.T) {
	s := httptest.NewServer(serve(files()))
	defer s.Close()
	packed, body := fetch(t, s.URL, "GET", "/assets/app.js", "Accept-Encoding", "gzip, br")
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.ContentLength > 500 || packed.Header.Get("Vary") != "Accept-Encoding" || body != string(files()["app.js"].Data) {
		t.Errorf("%v, %d bytes", packed.Header, packed.ContentLength)
	}
	for _, no := range []string{"gzip;q=0", "gzip;q=0.0", "br", "gzip;q=x"} {
		if plain, _ := fetch(t, s.URL, "GET", "/assets/app.js", "Accept-Encoding", no); plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: packed", no)
		}
	}
	plain, _ := fetch(t, s.URL, "GET", "/assets/app.js")
	if plain.Header.Get("ETag") == packed.Header.Get("ETag") {
		t.Error("two contents have one tag")
	}
	for _, tag := range []string{plain.Header.Get("ETag"), "W/" + plain.Header.Get("ETag"), `"x", ` + plain.Header.Get("ETag"), "*"} {
		if same, body := fetch(t, s.URL, "GET", "/assets/app.js", "If-None-Match", tag); same.StatusCode != 304 || body != "" || same.Header.Get("ETag") == "" {
			t.Errorf("%s: %d", tag, same.StatusCode)
		}
	}
	if changed, _ := fetch(t, s.URL, "GET", "/assets/app.js", "If-None-Match", `"x"`); changed.StatusCode != 200 {
		t.Errorf("another tag: %d", changed.StatusCode)
	}
	if small, _ := fetch(t, s.URL, "GET", "/assets/app.css", "Accept-Encoding", "gzip"); small.Header.Get("Content-Encoding") != "" {
		t.Error("what does not get smaller is packed")
	}
	if head, body := fetch(t, s.URL, "HEAD", "/assets/app.js"); head.ContentLength != int64(len(files()["app.js"].Data)) || body != "" {
		t.Errorf("the head alone: %d %q", head.ContentLength, body)
	}
}

func TestEveryPathServesTheIndex(t *testing.T) {
	s := httptest.NewServer(serve(files()))
	defer s.Close()
	_, index := fetch(t, s.URL, "GET", "/")
	for _, path := range []string{"/sessions", "/sessions/0199-x/tree?at=e1", "/sessions/a%2Fb.c", "/login", "/index.html", "/nothing/at/all"} {
		page, body := fetch(t, s.URL, "GET", path)
		if page.StatusCode != 200 || body != index || page.Header.Get("Content-Type") != "text/html; charset=utf-8" || page.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v", path, page.StatusCode, page.Header)
		}
	}
	for _, path := range []string{"/assets/nothing.js", "/assets/", "/assets/app-000000000000.js", "/assets/index.html", "/assets/..%2fwebui.go", "/favicon.ico"} {
		if file, _ := fetch(t, s.URL, "GET", path); file.StatusCode != 404 {
			t.Errorf("%s: %d", path, file.StatusCode)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if page, _ := fetch(t, s.URL, method, "/"); page.StatusCode != 405 || page.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, page.StatusCode)
		}
	}
}

// TestPolicy checks that every response has the content security policy.
func TestPolicy(t *testing.T) {
	s := httptest.NewServer(serve(files()))
	defer s.Close()
	broken := httptest.NewServer(serve(fstest.MapFS{}))
	defer broken.Close()
	for _, at := range []string{s.URL + "/", s.URL + "/assets/app.js", s.URL + "/assets/no", broken.URL + "/"} {
		answer, _ := fetch(t, at, "GET", "")
		head := answer.Header
		csp := head.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types firn"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s: %s", at, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
			t.Errorf("the policy is %s", csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "same-origin"} {
			if head.Get(name) != want {
				t.Errorf("%s: %s is %q", at, name, head.Get(name))
			}
		}
	}
	if answer, _ := fetch(t, broken.URL, "GET", "/"); answer.StatusCode != 500 {
		t.Errorf("without an index: %d", answer.StatusCode)
	}
}

// TestEmbeddedPagesAreSelfContained checks that the embedded pages have no inline scripts or
// styles and load nothing from other hosts.
func TestEmbeddedPagesAreSelfContained(t *testing.T) {
	s := httptest.NewServer(Handler())
	defer s.Close()
	page, index := fetch(t, s.URL, "GET", "/")
	if page.StatusCode != 200 {
		t.Fatalf("%d %s", page.StatusCode, index)
	}
	for _, bad := range []string{"<style", " style=", "javascript:", "onclick", "onload", "http:", "https:", `="//`} {
		if strings.Contains(index, bad) {
			t.Errorf("the index has %q", bad)
		}
	}
	for _, tag := range regexp.MustCompile(`<script[^>]*>[^<]*`).FindAllString(index, -1) {
		if !strings.Contains(tag, ` src="/assets/`) || !strings.HasSuffix(tag, ">") {
			t.Errorf("a script is not a file: %s", tag)
		}
	}
	names := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(index, -1)
	for _, name := range names {
		file, _ := fetch(t, s.URL, "GET", name[1])
		if !asset.MatchString(name[1]) || file.StatusCode != 200 || strings.HasPrefix(file.Header.Get("Content-Type"), "application/octet") {
			t.Errorf("%s: %d %v", name[1], file.StatusCode, file.Header)
		}
	}
	if len(names) == 0 {
		t.Error("the index asks for nothing")
	}
}
