package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// terms are the license terms of a module.
type terms struct {
	// id is the SPDX ID of its license; empty if not recognized.
	id string
	// text is the license with all notices that must be distributed with it.
	text []byte
}

// licenseFiles matches the names of license files. noticeFiles also matches other notices that
// must be distributed: licenses of vendored code, notices, patents.
var (
	licenseFiles = []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING", "LICENSE-BSD", "LICENSE-MIT"}
	noticeFiles  = regexp.MustCompile(`(?i)^([a-z0-9]+-)?(licen[cs]e|copying|notice|patents)([-_.][a-z0-9._-]*)?$`)
)

// notices returns the licenses of everything in a program, one file each, since they must
// be distributed with it. It fails if one is missing.
func (r *release) notices(info *buildinfo.BuildInfo, below string) ([]file, error) {
	names := []string{"std"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		names = append(names, m.Path)
	}
	var files []file
	for _, name := range names {
		text := r.licenses[name].text
		if len(text) == 0 {
			return nil, fmt.Errorf("no license found for %s, which is linked into the program", name)
		}
		files = append(files, file{name: below + "/licences/" + strings.ReplaceAll(name, "/", "_") + ".txt", data: text, mode: 0o644})
	}
	return files, nil
}

// findLicenses reads the license of every downloaded module, by module path, and that of Go
// itself, as std.
func findLicenses() (map[string]terms, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go installation: %w", err)
	}
	found := make(map[string]terms)
	if found["std"], err = termsOf(strings.TrimSpace(string(root)), false); err != nil {
		return nil, fmt.Errorf("read Go's license: %w", err)
	}
	out, err := exec.Command("go", "list", "-m", "-json=Path,Dir", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		if m.Dir != "" { // otherwise the module is not needed here
			if found[m.Path], err = termsOf(m.Dir, true); err != nil {
				return nil, fmt.Errorf("read the license of %s: %w", m.Path, err)
			}
		}
	}
}

// termsOf reads the license and the other notices in a directory and below it.
func termsOf(dir string, below bool) (t terms, err error) {
	own := ""
	for _, own = range licenseFiles {
		if text, err := os.ReadFile(filepath.Join(dir, own)); err == nil {
			t = terms{nameLicense(string(text)), text}
			break
		}
	}
	if t.text == nil {
		return t, nil
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && path != dir && (!below || name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case !e.Type().IsRegular() || !noticeFiles.MatchString(name) || path == filepath.Join(dir, own) || strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel(dir, path) // it is inside
		t.text = fmt.Appendf(t.text, "\n\n==== %s ====\n\n%s", filepath.ToSlash(inside), text)
		return nil
	})
	return t, err
}

// nameLicense identifies a license by its text.
func nameLicense(text string) string {
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
