package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestPack packs this very program for two systems, twice, with all that differs
// from machine to machine: the bytes must be the same.
func TestPack(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	pack := func(age time.Duration) string {
		dir := t.TempDir()
		for name, data := range map[string][]byte{
			"programs/linux_amd64/firn": program, "programs/windows_arm64/firn.exe": program,
			"shared/README.md": []byte("read"), "shared/man1/firn.1": []byte(".TH"), "shared/LICENSE": []byte("free"),
		} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			at := time.Now().Add(-age)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		r := release{
			version: "v1.2.3", packaging: filepath.Join("..", "..", "packaging"), url: "https://example.org/v1.2.3", key: "ssh-ed25519 AAAA", level: gzip.BestSpeed, programs: filepath.Join(dir, "programs"), shared: filepath.Join(dir, "shared"), out: filepath.Join(dir, "out"),
			time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), licenses: map[string]terms{"firn.dev": {id: "Apache-2.0"}, "std": {"BSD-3-Clause", []byte("free, too")}},
		}
		if err := r.pack(); err != nil {
			t.Fatal(err)
		}
		return r.out
	}
	one, two := pack(0), pack(99*time.Hour)
	sums := read(t, one, "SHA256SUMS")
	if sums != read(t, two, "SHA256SUMS") {
		t.Errorf("two releases differ:\n%s\n%s", sums, read(t, two, "SHA256SUMS"))
	}
	for _, name := range []string{
		"firn_1.2.3_linux_amd64.tar.gz", "firn_1.2.3_windows_arm64.zip", "firn_1.2.3_linux_amd64.cdx.json", "firn_1.2.3_windows_arm64.cdx.json",
		"firn.rb", "firn.json", "install.sh", "firn-cli-1.2.3.tgz", "firn-cli-linux-x64-1.2.3.tgz", "firn-cli-win32-arm64-1.2.3.tgz", "firn-chart-1.2.3.tgz",
	} {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(read(t, one, name))), name); !strings.Contains(sums, line) {
			t.Errorf("the checksums lack %s", line)
		}
	}
	const want = "firn_1.2.3_%[1]s/LICENSE 644 2026-01-02T03:04:06Z\nfirn_1.2.3_%[1]s/README.md 644 2026-01-02T03:04:06Z\n" +
		"firn_1.2.3_%[1]s/%[2]s 755 2026-01-02T03:04:06Z\nfirn_1.2.3_%[1]s/licences/std.txt 644 2026-01-02T03:04:06Z\nfirn_1.2.3_%[1]s/man1/firn.1 644 2026-01-02T03:04:06Z\n"
	if got := untar(t, read(t, one, "firn_1.2.3_linux_amd64.tar.gz")); got != fmt.Sprintf(want, "linux_amd64", "firn") {
		t.Errorf("in the archive are\n%s", got)
	}
	if got := unzip(t, read(t, one, "firn_1.2.3_windows_arm64.zip")); got != fmt.Sprintf(want, "windows_arm64", "firn.exe") {
		t.Errorf("in the archive are\n%s", got)
	}
	checkChannels(t, one)
	var b bom
	if err := json.Unmarshal([]byte(read(t, one, "firn_1.2.3_linux_amd64.cdx.json")), &b); err != nil {
		t.Fatal(err)
	}
	own := b.Metadata.Component
	if b.Format != "CycloneDX" || own.Version != "v1.2.3" || own.Hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256(program)) || own.Licenses[0].License.ID != "Apache-2.0" {
		t.Errorf("the list is of %+v", own)
	}
	if len(b.Components) == 0 || b.Components[0].Name != "std" || len(b.Dependencies[0].Deps) != len(b.Components) {
		t.Errorf("in it are %+v", b.Components)
	}
}

// checkChannels checks the files for package managers of a release of two systems.
func checkChannels(t *testing.T, dir string) {
	t.Helper()
	sum := func(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dir, name)))) }
	formula := read(t, dir, "firn.rb")
	want := "  on_linux do\n    on_intel do\n      url \"https://example.org/v1.2.3/firn_1.2.3_linux_amd64.tar.gz\"\n      sha256 \"" + sum("firn_1.2.3_linux_amd64.tar.gz") + "\"\n    end\n  end\n"
	if !strings.Contains(formula, want) || strings.Contains(formula, "on_macos") || !strings.Contains(formula, "  version \"1.2.3\"\n") {
		t.Errorf("the formula is\n%s", formula)
	}
	var scoop struct {
		Version      string
		Architecture map[string]struct {
			URL, Hash string
			Extract   string `json:"extract_dir"`
		}
	}
	if err := json.Unmarshal([]byte(read(t, dir, "firn.json")), &scoop); err != nil {
		t.Fatal(err)
	}
	if a := scoop.Architecture["arm64"]; scoop.Version != "1.2.3" || len(scoop.Architecture) != 1 || a.URL != "https://example.org/v1.2.3/firn_1.2.3_windows_arm64.zip" || a.Hash != sum("firn_1.2.3_windows_arm64.zip") || a.Extract != "firn_1.2.3_windows_arm64" {
		t.Errorf("the manifest is %+v", scoop)
	}
	var npm struct {
		Name, Version string
		OS, CPU       []string
		Optional      map[string]string `json:"optionalDependencies"`
	}
	for _, name := range []string{"firn-cli-win32-arm64", "firn-cli"} {
		if err := json.Unmarshal(unpacked(t, read(t, dir, name+"-1.2.3.tgz"), "package/package.json"), &npm); err != nil || npm.Name != name || npm.Version != "1.2.3" {
			t.Errorf("the package %s is %+v, %v", name, npm, err)
		}
	}
	if fmt.Sprint(npm.Optional) != "map[firn-cli-linux-x64:1.2.3 firn-cli-win32-arm64:1.2.3]" || fmt.Sprint(npm.OS, npm.CPU) != "[win32] [arm64]" {
		t.Errorf("the npm packages are %+v", npm)
	}
	if chart := string(unpacked(t, read(t, dir, "firn-chart-1.2.3.tgz"), "firn/Chart.yaml")); !strings.Contains(chart, "\nversion: \"1.2.3\"\nappVersion: \"1.2.3\"\n") {
		t.Errorf("the chart is\n%s", chart)
	}
}

// unpacked returns a file of a compressed tar archive.
func unpacked(t *testing.T, data, name string) []byte {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("find %s: %v", name, err)
		}
		if h.Name == name {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func untar(t *testing.T, data string) string {
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return b.String()
		} else if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %o %s\n", h.Name, h.Mode, h.ModTime.UTC().Format(time.RFC3339))
	}
}

func unzip(t *testing.T, data string) string {
	r, err := zip.NewReader(bytes.NewReader([]byte(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range r.File {
		fmt.Fprintf(&b, "%s %o %s\n", f.Name, f.Mode(), f.Modified.UTC().Format(time.RFC3339))
	}
	return b.String()
}

func TestNameLicense(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0": "Apache-2.0", "Permission is hereby granted, free\nof charge, to any": "MIT", "All rights reserved.": "",
		"Redistribution and use in source and binary forms … Neither the name of": "BSD-3-Clause", "Redistribution and use in source\nand binary forms": "BSD-2-Clause",
		"Mozilla Public License, version 2.0": "MPL-2.0",
	} {
		if got := nameLicense(text); got != want {
			t.Errorf("%q is called %q, want %q", text, got, want)
		}
	}
}

// TestNotices checks that every dependency is packed with its license, and that a missing
// license is an error.
func TestNotices(t *testing.T) {
	found, err := findLicenses()
	if err != nil || found["firn.dev"].id != "Apache-2.0" || found["github.com/spf13/cobra"].id != "Apache-2.0" {
		t.Fatalf("found: %v, %v, %v", found["firn.dev"].id, found["github.com/spf13/cobra"].id, err)
	}
	for module, file := range map[string]string{"modernc.org/memory": "LICENSE-MMAP-GO", "modernc.org/sqlite": "SQLITE-LICENSE", "github.com/klauspost/compress": "zstd/internal/xxhash/LICENSE.txt", "std": "PATENTS"} {
		if !strings.Contains(string(found[module].text), "==== "+file+" ====") {
			t.Errorf("%s is packed without its %s", module, file)
		}
	}
	required, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+`).FindAllStringSubmatch(string(required), -1) {
		if terms, ok := found[m[1]]; ok && len(terms.text) == 0 {
			t.Errorf("no license was found for %s", m[1])
		}
	}
	r := release{licenses: found}
	info := &debug.BuildInfo{Deps: []*debug.Module{{Path: "github.com/spf13/cobra"}}}
	files, err := r.notices(info, "x")
	if err != nil || len(files) != 2 || files[0].name != "x/licences/std.txt" || !strings.Contains(string(files[0].data), "The Go Authors") ||
		files[1].name != "x/licences/github.com_spf13_cobra.txt" || !strings.Contains(string(files[1].data), "Apache License") {
		t.Errorf("the files are %v, %v", files, err)
	}
	info.Deps = append(info.Deps, &debug.Module{Path: "example.com/none"})
	if _, err := r.notices(info, "x"); err == nil || !strings.Contains(err.Error(), "example.com/none") {
		t.Errorf("a module without a license gives %v", err)
	}
}
