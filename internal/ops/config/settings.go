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

// FileName is what the file of settings is called, in the home.
const FileName = "firn.toml"

// maxFile bounds the file of settings, in bytes.
const maxFile = 4 << 20

// Settings are a [Config] and where everything in it came from. They do not
// change; [Settings.Set] returns new ones. They may be used from many
// goroutines.
type Settings struct {
	Config
	// Warnings are what looks wrong and is not: variables that look like ours,
	// and name nothing.
	Warnings []Problem

	path  string
	vars  variables
	flags map[string]string
	tree  *node
	// record is the store that the home records; nil if it records none.
	record *StoreRecord
}

// Open reads the settings from the file at path, which need not exist, the
// environment, as os.Environ tells it, and flags, which are named by the paths
// of settings. An empty path is that of [File].
//
// If something is wrong the error is [Problems], and the settings are returned
// all the same, with the defaults for what is wrong, to look at and to mend. If
// the file cannot be read at all there are none.
func Open(path string, environ []string, flags map[string]string) (*Settings, error) {
	vars := readEnviron(environ)
	if path == "" {
		path = vars.file(flags["home"])
	}
	if path == "" {
		return nil, fmt.Errorf("find the settings: there is no home directory, and none is named by FIRN_HOME: %w", firn.ErrNotFound)
	}
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	s, problems := assemble(path, text, vars, maps.Clone(flags), nil)
	// A record that cannot be read is told by CheckStore: the settings can be looked
	// at all the same.
	if r, err := ReadRecord(vfs.OS{}, s.Home); err == nil && r != nil {
		s, problems = assemble(path, text, vars, maps.Clone(flags), r)
	}
	if len(problems) > 0 {
		return s, problems
	}
	return s, nil
}

// File is where the settings are if nobody says otherwise: what FIRN_CONFIG
// says, or else firn.toml in home. An empty home means what FIRN_HOME says, or
// else ~/.firn. It is empty if there is no home directory.
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

// Default is what firn is set to in a home without any settings.
func Default(home string) Config {
	s, _ := assemble(filepath.Join(home, FileName), nil, variables{"FIRN_HOME": home}, nil, nil)
	return s.Config
}

// Path is where the file is, whether it exists or not.
func (s *Settings) Path() string { return s.path }

// readText reads the file. One that is not there is empty.
func readText(path string) ([]byte, error) {
	f, err := vfs.OS{}.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	defer f.Close() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("read the settings in %s: %w: more than %d bytes", path, firn.ErrTooLarge, maxFile)
	}
	return text, nil
}

// assemble lays all sources over each other and makes settings of them. The record
// of the home, which may be nil, counts where no source names a store.
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
		d.related(s) // what is wrong by itself need not fit to anything else
	}
	d.resolve(s)
	s.Warnings = s.unexpected(o.warnings)
	return s, append(append(problems, o.problems...), d.problems...).tidy()
}

// defaultAgent is who is meant by default, before anything is checked.
func defaultAgent(root *node, flags map[string]string) string {
	if id := flags["default_agent"]; id != "" {
		return id
	}
	if n := root.members["default_agent"]; n != nil && n.value != "" {
		return n.value
	}
	return schema().member("default_agent").fallback
}

// withAgents returns a tree in which every agent has what defaults say, and
// the default agent is there.
func withAgents(root *node, id string) *node {
	whole := newTable(root.origin)
	for _, key := range root.order {
		whole.put(key, root.members[key])
	}
	defaults, own := root.members["defaults"], root.members["agents"]
	if own != nil && own.shape != tableShape || checkID(id) != nil {
		return whole // which is a problem
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

// unexpected leaves out warnings of variables that the settings name.
func (s *Settings) unexpected(warnings []Problem) []Problem {
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

// Secret finds a secret: what the variable holds, or else what the file does,
// without the newline at its end. It is empty if neither is named or set.
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
		return "", fmt.Errorf("read a secret: %w", err)
	}
	defer f.Close() // only read
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", fmt.Errorf("read a secret from %s: %w", file, err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if len(text) > most || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("read a secret from %s: %w: want one line", file, firn.ErrInvalid)
	}
	return secret, nil
}
