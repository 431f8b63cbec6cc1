package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of a bill of materials in CycloneDX 1.6 format that are filled in.
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
		Licenses   []license  `json:"licenses,omitempty"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	license struct {
		License struct {
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

// bom returns the bill of materials of a program, from its embedded build information.
func (r *release) bom(info *buildinfo.BuildInfo, program []byte) ([]byte, error) {
	own := component{
		Ref: purl(info.Main.Path, r.version), Type: "application", Name: info.Main.Path, Version: r.version, PURL: purl(info.Main.Path, r.version),
		Hashes:   []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(program))}},
		Licenses: licensesOf(r.licenses[info.Main.Path].id), Properties: settings(info),
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.time.Format(time.RFC3339), own}}
	use := dependency{Ref: own.Ref}
	std := component{Ref: purl("std", info.GoVersion), Type: "library", Name: "std", Version: info.GoVersion, PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")), Licenses: licensesOf(r.licenses["std"].id)}
	for _, c := range append([]component{std}, r.modules(info)...) {
		b.Components = append(b.Components, c)
		use.Deps = append(use.Deps, c.Ref)
	}
	b.Dependencies = []dependency{use}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return text.Bytes(), err
}

// modules lists the modules in a program.
func (r *release) modules(info *debug.BuildInfo) []component {
	var all []component
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Ref: purl(m.Path, m.Version), Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version), Licenses: licensesOf(r.licenses[m.Path].id)}
		// As in go.sum, the sum covers a list of all files and their sums.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
		}
		all = append(all, c)
	}
	return all
}

// settings returns the build settings of a program.
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

// purl returns the package URL of a module.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licensesOf(id string) []license {
	if id == "" {
		return nil
	}
	var l license
	l.License.ID = id
	return []license{l}
}
