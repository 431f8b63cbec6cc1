package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestBundleIsUpToDate checks the hash of the sources recorded in the bundle, so
// that an outdated bundle is found without Node. make check-web checks its content.
func TestBundleIsUpToDate(t *testing.T) {
	var names []string
	err := filepath.WalkDir("src", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range append([]string{"package-lock.json"}, names...) {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(body)
	}
	want := "/* sources " + hex.EncodeToString(sum.Sum(nil)) + " */"
	if !bytes.HasPrefix(bundled(t, "app.js"), []byte(want)) {
		t.Error("dist was made of other sources than those in src: run make web")
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		source, err := os.ReadFile(filepath.Join("src", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bundled(t, name), source) {
			t.Errorf("dist/%s is not src/%s: run make web", name, name)
		}
	}
}

// Maximum compressed sizes in bytes of the files for the first page. The documented limit
// of a first load is 150 kB; the rest is for the first API responses.
const (
	firstLoad   = 110_000
	firstScript = 110_000
	firstStyle  = 16_000
)

func TestBundleIsSmall(t *testing.T) {
	total := 0
	for _, f := range []struct {
		name string
		most int
	}{{"index.html", firstLoad}, {"app.js", firstScript}, {"app.css", firstStyle}, {"icon.svg", firstLoad}} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(bundled(t, f.name)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if packed.Len() > f.most {
			t.Errorf("%s is %d bytes, want at most %d", f.name, packed.Len(), f.most)
		}
		total += packed.Len()
	}
	t.Logf("a first load is %d bytes", total)
	if bytes.Contains(bundled(t, "app.js"), []byte("mfrac")) || !bytes.Contains(bundled(t, "maths.js"), []byte("mfrac")) {
		t.Error("maths is not in a file of its own")
	}
	if bytes.Contains(bundled(t, "app.js"), []byte("timeline-lane")) || !bytes.Contains(bundled(t, "timeline.js"), []byte("timeline-lane")) {
		t.Error("the timeline is not in a file of its own")
	}
	if total > firstLoad {
		t.Errorf("a first load is %d bytes, want at most %d", total, firstLoad)
	}
}

// TestBundleObeysContentSecurityPolicy checks that the bundle contains nothing that the
// content security policy forbids.
func TestBundleObeysContentSecurityPolicy(t *testing.T) {
	refused := map[string][]*regexp.Regexp{
		"index.html": {regexp.MustCompile(`<style`), regexp.MustCompile(`<script[^>]*>[^<]`), regexp.MustCompile(`\son[a-z]+=`), regexp.MustCompile(`\sstyle=`), regexp.MustCompile(`https?://`)},
		"app.css":    {regexp.MustCompile(`https?://`), regexp.MustCompile(`@import`)},
		"app.js":     {regexp.MustCompile(`\beval\(`), regexp.MustCompile(`\bnew Function\(`), regexp.MustCompile(`\bimportScripts\(`), regexp.MustCompile(`(?:src|href|fetch\()[:=]?\s*["'` + "`" + `]https?://`)},
	}
	refused["maths.js"], refused["timeline.js"] = refused["app.js"], refused["app.js"]
	for name, patterns := range refused {
		body := bundled(t, name)
		for _, p := range patterns {
			if at := p.FindIndex(body); at != nil {
				t.Errorf("%s has %q, which the policy refuses", name, body[at[0]:at[1]])
			}
		}
	}
}

func bundled(t *testing.T, name string) []byte {
	t.Helper()
	body, err := dist.ReadFile("dist/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
