package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// terms are what a module may be used by.
type terms struct {
	// id is the name of its licence, empty if that is not recognized.
	id string
	// text is the licence, and what else must be told with it.
	text []byte
}

// licenceFiles are what files with licences are called, noticeFiles those with what
// must be told besides.
var (
	licenceFiles = []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING"}
	noticeFiles  = []string{"NOTICE", "NOTICE.md", "NOTICE.txt"}
)

// notices are the licences of all that is in a program, each a file: those who hand
// the program on must hand them on too. One that has none is refused.
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
		text := r.licences[name].text
		if len(text) == 0 {
			return nil, fmt.Errorf("no licence of %s was found, which is in the program", name)
		}
		files = append(files, file{name: below + "/licences/" + strings.ReplaceAll(name, "/", "_") + ".txt", data: text, mode: 0o644})
	}
	return files, nil
}

// findLicences reads the licence of every module that is here, by its path, and that
// of Go itself, as std.
func findLicences() (map[string]terms, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("ask where Go is: %w", err)
	}
	found := map[string]terms{"std": termsOf(strings.TrimSpace(string(root)))}
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
		if m.Dir != "" { // else nothing of it is needed here
			found[m.Path] = termsOf(m.Dir)
		}
	}
}

// termsOf reads the licence in a directory.
func termsOf(dir string) (t terms) {
	for _, name := range licenceFiles {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			t = terms{nameLicence(string(text)), text}
			break
		}
	}
	for _, name := range noticeFiles {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && t.text != nil {
			t.text = append(append(t.text, '\n'), text...)
		}
	}
	return t
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
