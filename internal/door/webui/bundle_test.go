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

// The bundle says of which sources it was made, so that one that was forgotten
// is found where there is no Node. That it is just what they give is checked by
// make check-web.
func TestBundleIsMadeOfTheSources(t *testing.T) {
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

// firstLoad is how much a browser may have to fetch before it shows something,
// packed. The promise is 150 kB; the rest is for the first answers.
const firstLoad = 110_000

func TestBundleIsSmall(t *testing.T) {
	total := 0
	for _, name := range []string{"index.html", "app.js", "app.css", "icon.svg"} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(bundled(t, name)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
	}
	t.Logf("a first load is %d bytes", total)
	if total > firstLoad {
		t.Errorf("a first load is %d bytes, want at most %d", total, firstLoad)
	}
}

// What the policy of the pages would refuse must not be in them.
func TestBundleAsksForNothingFromElsewhere(t *testing.T) {
	refused := map[string][]*regexp.Regexp{
		"index.html": {regexp.MustCompile(`<style`), regexp.MustCompile(`<script[^>]*>[^<]`), regexp.MustCompile(`\son[a-z]+=`), regexp.MustCompile(`\sstyle=`), regexp.MustCompile(`https?://`)},
		"app.css":    {regexp.MustCompile(`https?://`), regexp.MustCompile(`@import`)},
		"app.js":     {regexp.MustCompile(`\beval\(`), regexp.MustCompile(`\bnew Function\(`), regexp.MustCompile(`\bimportScripts\(`), regexp.MustCompile(`(?:src|href|fetch\()[:=]?\s*["'` + "`" + `]https?://`)},
	}
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
