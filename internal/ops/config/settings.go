package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// FileName is the name of the settings file in the home.
const FileName = "firn.toml"

// maxFile limits the size of the settings file in bytes.
const maxFile = 4 << 20

// Settings is a [Config] with the origins of its values. It is immutable and safe for
// concurrent use; [Settings.Set] returns a new one.
type Settings struct {
	Config
	// Warnings lists suspicious input that is not an error, such as unknown variables with
	// our prefix.
	Warnings []Problem

	path  string
	vars  variables
	flags map[string]string
	tree  *node
	// record is the store recorded in the home; nil if there is none.
	record *StoreRecord
}

// Open reads the settings from the file at path, which may not exist, from the environment
// in the format of os.Environ, and from flags, named by the paths of settings. An empty
// path selects the file of [File].
//
// If settings are invalid, the error is [Problems] and the settings are still returned,
// with defaults in place of invalid values, for display and repair. If the file cannot be
// read at all, the settings are nil.
func Open(path string, environ []string, flags map[string]string) (*Settings, error) {
	vars := readEnviron(environ)
	if path == "" {
		path = vars.file(flags["home"])
	}
	if path == "" {
		return nil, fmt.Errorf("cannot find the settings: there is no home directory, and FIRN_HOME is not set: %w", firn.ErrNotFound)
	}
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	s, problems := assemble(path, text, vars, maps.Clone(flags), nil)
	// An unreadable record is reported by CheckStore. The settings can still be viewed.
	if r, err := ReadRecord(vfs.OS{}, s.Home); err == nil && r != nil {
		s, problems = assemble(path, text, vars, maps.Clone(flags), r)
	}
	if len(problems) > 0 {
		return s, problems
	}
	return s, nil
}

// File returns the default path of the settings file: FIRN_CONFIG, or firn.toml in home. An
// empty home means FIRN_HOME, or ~/.firn. It returns "" if there is no home directory.
func File(home string, environ []string) string {
	return readEnviron(environ).file(home)
}

func (v variables) file(home string) string {
	if file := v["FIRN_CONFIG"]; file != "" {
		return v.expand(file)
	}
	if home == "" {
		home = v["FIRN_HOME"]
	}
	if home == "" {
		home = "~/.firn"
	}
	if home = v.expand(home); strings.HasPrefix(home, "~") {
		return ""
	}
	return filepath.Join(home, FileName)
}

// Default returns the settings of a home without a settings file.
func Default(home string) Config {
	s, _ := assemble(filepath.Join(home, FileName), nil, variables{"FIRN_HOME": home}, nil, nil)
	return s.Config
}

// Path returns the path of the settings file, which may not exist.
func (s *Settings) Path() string { return s.path }

// readText reads the file. A missing file is empty.
func readText(path string) ([]byte, error) {
	f, err := vfs.OS{}.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close() // read-only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("read settings in %s: %w: more than %d bytes", path, firn.ErrTooLarge, maxFile)
	}
	return text, nil
}

// assemble merges all sources into settings. The record of the home, which may be nil,
// applies if no source names a store.
func assemble(path string, text []byte, vars variables, flags map[string]string, record *StoreRecord) (*Settings, Problems) {
	s := &Settings{path: path, vars: vars, flags: flags, record: record}
	var problems Problems
	doc, problem := parseDocument(path, text)
	if problem != nil {
		problems = append(problems, *problem)
	}
	o := &overlay{root: doc.root}
	o.environment(vars)
	agent := defaultAgent(doc.root, flags)
	o.model(vars, agent)
	o.flags(flags)
	o.storeRecord(record)
	s.tree = withAgents(doc.root, agent)

	d := &decoder{base: filepath.Dir(path)}
	v := reflect.ValueOf(&s.Config).Elem()
	schema().setDefault(v)
	d.decode(schema(), v, s.tree, nil)
	if len(d.problems)+len(o.problems)+len(problems) == 0 {
		d.checkRelated(s) // only checked if the individual settings are valid
	}
	d.resolve(s)
	s.Warnings = s.filterWarnings(o.warnings)
	return s, append(append(problems, o.problems...), d.problems...).sortUnique()
}

// defaultAgent returns the default agent, before validation.
func defaultAgent(root *node, flags map[string]string) string {
	if id := flags["default_agent"]; id != "" {
		return id
	}
	if n := root.members["default_agent"]; n != nil && n.value != "" {
		return n.value
	}
	return schema().member("default_agent").fallback
}

// withAgents returns a tree in which the defaults are merged into every agent, including
// the default agent.
func withAgents(root *node, id string) *node {
	whole := newTable(root.origin)
	for _, key := range root.order {
		whole.put(key, root.members[key])
	}
	defaults, own := root.members["defaults"], root.members["agents"]
	if own != nil && own.shape != tableShape || checkID(id) != nil {
		return whole // reported as a problem
	}
	agents := newTable(Origin{Layer: FromDefault})
	if own != nil {
		agents.origin = own.origin
		for _, name := range own.order {
			agents.put(name, own.members[name].over(defaults))
		}
	}
	if agents.members[id] == nil {
		agents.put(id, newTable(Origin{Layer: FromDefault}).over(defaults))
	}
	whole.put("agents", agents)
	return whole
}

// filterWarnings removes warnings about variables that the settings refer to.
func (s *Settings) filterWarnings(warnings []Problem) []Problem {
	named := make(map[string]bool)
	walk(schema(), reflect.ValueOf(s.Config), nil, func(l leaf) {
		for _, text := range l.texts("variable") {
			named["$"+text] = true
		}
	})
	var left []Problem
	for _, w := range warnings {
		if !named[w.Source] {
			left = append(left, w)
		}
	}
	return left
}

// Secret returns the value of the variable, or else the content of the file without
// trailing newlines. It returns "" if neither is named or set.
func Secret(variable, file string, env func(name string) string) (string, error) {
	if variable != "" {
		if secret := env(variable); secret != "" {
			return secret, nil
		}
	}
	if file == "" {
		return "", nil
	}
	f, err := vfs.OS{}.Open(file, vfs.Read)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	defer f.Close() // read-only
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", fmt.Errorf("read secret from %s: %w", file, err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if len(text) > most || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("read secret from %s: %w: expected one line", file, firn.ErrInvalid)
	}
	return secret, nil
}
