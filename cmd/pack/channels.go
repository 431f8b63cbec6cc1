package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// packed is the archive of one system.
type packed struct{ name, sha256 string }

// channels makes the files for package managers that download the archives: a Homebrew
// formula, a Scoop manifest, the npm package that npx runs, a Helm chart and the
// installation script. It returns their names.
func (r *release) channels() (made []string, err error) {
	v, err := packageVersions(r.version)
	if err != nil {
		return nil, err
	}
	formula, err := r.formula()
	if err != nil {
		return nil, err
	}
	script, err := r.script()
	if err != nil {
		return nil, err
	}
	npm, err := r.npmWrapper(v.semantic)
	if err != nil {
		return nil, err
	}
	chart, err := r.chart(v.semantic)
	if err != nil {
		return nil, err
	}
	for _, f := range []file{
		{name: "firn.rb", data: formula}, {name: "firn.json", data: r.scoop()}, {name: "install.sh", data: script},
		{name: npmName + "-" + v.semantic + ".tgz", data: npm}, {name: "firn-chart-" + v.semantic + ".tgz", data: chart},
	} {
		if len(f.data) == 0 {
			continue
		}
		made = append(made, f.name)
		err = errors.Join(err, r.write(f.name, f.data))
	}
	return made, err
}

// formula returns the Homebrew formula, or nothing if no archive is for a system of
// Homebrew.
func (r *release) formula() ([]byte, error) {
	type archive struct{ CPU, URL, SHA256 string }
	type system struct {
		OS       string
		Archives []archive
	}
	var systems []system
	for _, names := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} {
		s := system{OS: names[1]}
		for _, cpu := range [][2]string{{"arm64", "arm"}, {"amd64", "intel"}} {
			if a, ok := r.archives[names[0]+"_"+cpu[0]]; ok {
				s.Archives = append(s.Archives, archive{cpu[1], r.url + "/" + a.name, a.sha256})
			}
		}
		if len(s.Archives) > 0 {
			systems = append(systems, s)
		}
	}
	if len(systems) == 0 {
		return nil, nil
	}
	text, err := template.ParseFiles(filepath.Join(r.packaging, "homebrew", "firn.rb.tmpl"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = text.Execute(&b, struct {
		Version string
		Systems []system
	}{strings.TrimPrefix(r.version, "v"), systems})
	return b.Bytes(), err
}

// scoop returns the Scoop manifest, or nothing if no archive is for Windows.
func (r *release) scoop() []byte {
	type architecture struct {
		URL     string `json:"url"`
		Hash    string `json:"hash"`
		Extract string `json:"extract_dir"`
	}
	architectures := make(map[string]architecture)
	for system, name := range map[string]string{"windows_amd64": "64bit", "windows_arm64": "arm64"} {
		if a, ok := r.archives[system]; ok {
			architectures[name] = architecture{r.url + "/" + a.name, a.sha256, strings.TrimSuffix(a.name, ".zip")}
		}
	}
	if len(architectures) == 0 {
		return nil
	}
	return indented(struct {
		Version       string                  `json:"version"`
		Description   string                  `json:"description"`
		Homepage      string                  `json:"homepage"`
		License       string                  `json:"license"`
		Architectures map[string]architecture `json:"architecture"`
		Bin           string                  `json:"bin"`
	}{strings.TrimPrefix(r.version, "v"), "Saves the conversations of AI agents in append-only files", "https://firn.dev", "Apache-2.0", architectures, "firn.exe"})
}

// script returns the installation script with the address, version and key of the release.
func (r *release) script() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.packaging, "install.sh"))
	if err != nil {
		return nil, err
	}
	text := string(data)
	for name, value := range map[string]string{"release_url": r.url, "release_key": r.key, "release_version": r.version} {
		if strings.ContainsAny(value, "'\n") {
			return nil, fmt.Errorf("%s is %q, which cannot be quoted", name, value)
		}
		before := "\n" + name + "=''\n"
		if strings.Count(text, before) != 1 {
			return nil, fmt.Errorf("install.sh has no line %s=''", name)
		}
		text = strings.Replace(text, before, "\n"+name+"='"+value+"'\n", 1)
	}
	return []byte(text), nil
}

// chart packs the Helm chart with the version of the release.
func (r *release) chart(version string) ([]byte, error) {
	files, err := collect(filepath.Join(r.packaging, "helm", "firn"), "firn")
	if err != nil {
		return nil, err
	}
	set := regexp.MustCompile(`(?m)^(version|appVersion): .*$`)
	for i, f := range files {
		if f.name == "firn/Chart.yaml" {
			files[i].data = set.ReplaceAll(f.data, []byte(`${1}: "`+version+`"`))
		}
	}
	return tarball(files, r.time, r.level)
}

// indented encodes a value of a type that can always be encoded.
func indented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // a buffer takes everything
	return b.Bytes()
}
