package digest

import (
	"maps"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Files returns the files that the calls read and changed, sorted. A changed file is not
// listed as read, and failed calls are ignored.
func Files(lines []Line) (read, modified []string) {
	reads, changes := make(map[string]bool), make(map[string]bool)
	results := matchResults(lines)
	for i, l := range lines {
		if l.Kind != Call || failed(lines, results[i]) {
			continue
		}
		paths, verb := filesOfCall(l)
		for _, path := range paths {
			switch verb {
			case reading:
				reads[path] = true
			case changing:
				changes[path] = true
			}
		}
	}
	maps.DeleteFunc(reads, func(path string, _ bool) bool { return changes[path] })
	return slices.Sorted(maps.Keys(reads)), slices.Sorted(maps.Keys(changes))
}

func failed(lines []Line, result int) bool { return result >= 0 && lines[result].IsError }

// matchResults returns the index of the result of each call, or -1: the first one with its
// name that belongs to no earlier call, before the assistant speaks again. So an
// interrupted call does not take the results of later ones.
func matchResults(lines []Line) []int {
	results := make([]int, len(lines))
	waiting := make(map[string][]int)
	over := false // waiting calls end when the next line is not a result
	for i, l := range lines {
		results[i] = -1
		if over && l.Kind != Result && (l.Role != firn.RoleUser || l.Kind == Call) {
			clear(waiting)
			over = false
		}
		switch {
		case l.Kind == Call:
			waiting[l.Name] = append(waiting[l.Name], i)
		case l.Kind == Result:
			over = true
			if calls := waiting[l.Name]; len(calls) > 0 {
				results[calls[0]] = i
				waiting[l.Name] = calls[1:]
			}
		case l.Role == firn.RoleUser:
			over = true
		}
	}
	return results
}

// verb is the effect of a call on files.
type verb int

const (
	neither verb = iota
	reading
	changing
)

// filesOfCall returns the files named by a call and its effect on them.
func filesOfCall(call Line) ([]string, verb) {
	name := toolName(call.Name)
	if !verbsFiles(name) {
		return nil, neither
	}
	a := readArguments(call.Text)
	if name == "applypatch" {
		return patched(a.patch + call.Text), changing
	}
	if a.path == "" {
		return nil, neither
	}
	if readers[name] || a.command == "view" {
		return []string{a.path}, reading
	}
	return []string{a.path}, changing
}

func verbsFiles(name string) bool { return readers[name] || writers[name] }

// toolName normalizes the spellings of a tool name: mcp__fs__read_file, ReadFile and
// read-file all become readfile.
func toolName(name string) string {
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// readers and writers are normalized tool names.
var (
	readers = nameSet("read readfile readtextfile fileread view viewfile openfile getfile cat readlines")
	writers = nameSet("write writefile filewrite edit editfile fileedit multiedit notebookedit create createfile appendfile " +
		"deletefile strreplace replace replaceinfile insert patch applypatch strreplaceeditor strreplacebasededittool savefile")
)

func nameSet(names string) map[string]bool {
	set := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// arguments are the recognized arguments of a call.
type arguments struct {
	path, command, patch string
}

// readArguments parses the arguments of a call; missing ones are empty.
func readArguments(text string) (a arguments) {
	r := rawjson.New([]byte(text))
	if !r.Object() {
		return a
	}
	for r.Member() {
		key := string(r.Key())
		var to *string
		switch key {
		case "path", "file_path", "filePath", "filepath", "filename", "fileName", "file", "notebook_path", "target_file", "absolute_path":
			to = &a.path
		case "command", "cmd", "script":
			to = &a.command
		case "patch", "input":
			to = &a.patch
		}
		if to == nil {
			r.Skip()
			continue
		}
		value, ok := r.Text()
		if !ok {
			value = strings.Trim(strings.Join(readStrings(&r), " "), " ")
		}
		if *to == "" {
			*to = value
		}
	}
	return a
}

// readStrings parses an array of strings and skips other values.
func readStrings(r *rawjson.Reader) (values []string) {
	if !r.Array() {
		r.Skip()
		return nil
	}
	for r.Element() {
		if value, ok := r.Text(); ok {
			values = append(values, value)
		} else {
			r.Skip()
		}
	}
	return values
}

// patched returns the files named by a patch.
func patched(patch string) (paths []string) {
	for line := range strings.SplitSeq(patch, "\n") {
		for _, mark := range [...]string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, mark); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}
