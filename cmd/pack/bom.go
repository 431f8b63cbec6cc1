package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of a bill of materials in the format CycloneDX 1.6 that we fill in.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licences   []licence  `json:"licenses,omitempty"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licence struct {
		Licence struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Deps []string `json:"dependsOn"`
	}
)

// bom lists what is in a program, by what the Go command wrote into it.
func (r *release) bom(path string, program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("read what is in %s: %w", path, err)
	}
	own := component{
		Ref: purl(info.Main.Path, r.version), Type: "application", Name: info.Main.Path, Version: r.version, PURL: purl(info.Main.Path, r.version),
		Hashes:   []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(program))}},
		Licences: licencesOf(r.licences[info.Main.Path]), Properties: settings(info),
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.time.Format(time.RFC3339), own}}
	use := dependency{Ref: own.Ref}
	std := component{Ref: purl("std", info.GoVersion), Type: "library", Name: "std", Version: info.GoVersion, PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")), Licences: licencesOf("BSD-3-Clause")}
	for _, c := range append([]component{std}, r.modules(info)...) {
		b.Components = append(b.Components, c)
		use.Deps = append(use.Deps, c.Ref)
	}
	b.Dependencies = []dependency{use}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(b)
	return text.Bytes(), err
}

// modules lists the modules in a program.
func (r *release) modules(info *debug.BuildInfo) []component {
	var all []component
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Ref: purl(m.Path, m.Version), Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version), Licences: licencesOf(r.licences[m.Path])}
		// The sum is of a list of all files and their sums, as go.sum has it.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
		}
		all = append(all, c)
	}
	return all
}

// settings tells how a program was built.
func settings(info *debug.BuildInfo) []property {
	all := []property{{"go:version", info.GoVersion}}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath":
			all = append(all, property{"go:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	return all
}

// purl is the address of a module among packages.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licencesOf(id string) []licence {
	if id == "" {
		return nil
	}
	var l licence
	l.Licence.ID = id
	return []licence{l}
}

// findLicences tells the licence of every module that is here, by its path. What
// is not recognized is left out.
func findLicences() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-m", "-json=Path,Dir", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	found := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		for _, name := range []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING"} {
			if text, err := os.ReadFile(filepath.Join(m.Dir, name)); err == nil && m.Dir != "" {
				found[m.Path] = nameLicence(string(text))
				break
			}
		}
	}
}

// nameLicence tells a licence by what it says.
func nameLicence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("Apache License") && has("Version 2.0"):
		return "Apache-2.0"
	case has("Mozilla Public License") && has("2.0"):
		return "MPL-2.0"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Permission to use, copy, modify, and/or distribute"), has("Permission to use, copy, modify, and distribute"):
		return "ISC"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("names of its contributors")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("This is free and unencumbered software"):
		return "Unlicense"
	}
	return ""
}
