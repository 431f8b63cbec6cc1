package firn_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dependency is a line of docs/dependencies.md, or the data of a go.mod and a license.
type dependency struct{ version, license string }

// TestDependencies compares docs/dependencies.md with the go.mod files, and the licenses it
// lists with those of the modules.
func TestDependencies(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]dependency)
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z0-9.-]+\.[a-z]+/\S+) \| (?:(v\S+) \| )?(\S+) \|`).FindAllStringSubmatch(string(page), -1) {
		seen[m[1]] = dependency{m[2], m[3]}
	}
	needed := make(map[string]bool)
	for _, dir := range []string{".", filepath.Join("proving", "interop", "sdk"), filepath.Join("proving", "s3"), filepath.Join("examples", "email"), "tools", filepath.Join("tools", "nfpm")} {
		for path, version := range requiredIn(t, dir) {
			needed[path] = true
			d, ok := seen[path]
			if !ok {
				t.Errorf("%s is required by the module in %s, but docs/dependencies.md does not list it", path, dir)
				continue
			}
			if !strings.HasPrefix(dir, "tools") && d.version != version {
				t.Errorf("docs/dependencies.md lists %s %s, but it is %s: review the changes and the license", path, d.version, version)
			}
			if license := licenseOf(t, dir, path, version); license != d.license {
				t.Errorf("docs/dependencies.md gives the license of %s as %s, but it is %s", path, d.license, license)
			}
		}
	}
	for path := range seen {
		if !needed[path] {
			t.Errorf("docs/dependencies.md lists %s, which no module requires", path)
		}
	}
}

// requiredIn returns the modules that a go.mod requires directly or for a tool.
func requiredIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	tools := strings.ReplaceAll(regexp.MustCompile(`(?s)tool \((.*?)\)|tool \S+`).FindString(string(data)), "tool ", "\t")
	all := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(string(data), -1) {
		if path := m[1]; path != "firn.dev" && (m[3] == "" || strings.Contains(tools, "\t"+path+"/")) {
			all[path] = m[2]
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s/go.mod requires nothing", dir)
	}
	return all
}

// licenseOf identifies the license of a module by its text. The module is downloaded if
// necessary: dependencies of tools and SDKs may not be in the cache.
func licenseOf(t *testing.T, dir, path, version string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("download the module %s: %v: %s", path, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("the module %s was not found: %s, %v", path, out, err)
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "LICEN[SC]E*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no license: %v", path, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, known := range [][2]string{
		{"Redistribution and use in source and binary forms", "BSD-3-Clause"}, {"Mozilla Public License Version 2.0", "MPL-2.0"}, {"Mozilla Public License, version 2.0", "MPL-2.0"},
		{"Apache License", "Apache-2.0"}, {"Permission is hereby granted, free of charge", "MIT"},
	} {
		if strings.Contains(text, known[0]) {
			return known[1]
		}
	}
	return "unknown"
}
