package cli

import (
	"bytes"
	_ "embed" // for the extension
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/render/prose"
)

// recallTool is a tool that firn recall can be installed in.
type recallTool struct {
	name dialect.Name
	// home is its directory in the user's home, file the file in it that is changed.
	home, file string
	// matcher selects the tools of the hook for files. It is empty if file is an extension
	// that firn writes.
	matcher string
	// hint is shown after installing.
	hint string
}

var recallTools = map[string]recallTool{
	"claude-code": {dialect.ClaudeCode, ".claude", "settings.json", "Read|Edit|MultiEdit|Write|NotebookEdit", "Claude Code reads its hooks when it starts"},
	"codex": {dialect.Codex, ".codex", "hooks.json", "apply_patch|Edit|Write",
		"Codex may require [features] codex_hooks = true in its config.toml, and a review with /hooks"},
	"pi": {dialect.Pi, filepath.Join(".pi", "agent"), filepath.Join("extensions", "firn-recall.ts"), "", "pi loads it when it starts, or with /reload"},
}

//go:embed recall_pi.ts
var piExtension string

// extensionMark is the first line of an extension that firn wrote.
const extensionMark = "// Written by firn recall --install pi."

// recallCommandLine matches the command of a hook that firn installed.
var recallCommandLine = pattern.New(` recall --for-(prompt|file -)$`)

// recallTarget returns a tool by name, and the path of its file.
func (p findCommands) recallTarget(name string) (recallTool, string, error) {
	t, ok := recallTools[name]
	if !ok {
		return t, "", &usageError{message: fmt.Sprintf("unknown tool %q", name), hint: "the tools are claude-code, codex and pi"}
	}
	user, others, err := adoptCommands(p).toolHomes()
	dir := others[t.name]
	if dir == "" {
		if err != nil {
			return t, "", err
		}
		dir = filepath.Join(user, t.home)
	}
	path := filepath.Join(dir, t.file)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link is kept
	}
	return t, path, nil
}

// recallProgram returns the command line of this program for a hook.
func (p findCommands) recallProgram() ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	home, err := p.homeDir()
	if err != nil {
		return nil, err
	}
	usual, err := p.usualHome()
	if err == nil && home == usual {
		return []string{program}, nil
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, err
	}
	return []string{program, "--home", home}, nil
}

// installRecall adds the hooks to a tool.
func (p findCommands) installRecall(name string) error {
	t, path, err := p.recallTarget(name)
	if err != nil {
		return err
	}
	program, err := p.recallProgram()
	if err != nil {
		return err
	}
	if t.matcher == "" {
		quoted, err := json.Marshal(program)
		if err != nil {
			return err
		}
		text := extensionMark + "\n" + strings.Replace(piExtension, `["firn"]`, string(quoted), 1)
		if err := ownExtension(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = writeToolFile(path, []byte(text))
		return p.recallInstalled(err, t, name, path)
	}
	words := make([]string, len(program))
	for i, word := range program {
		words[i] = quote(word)
	}
	command := strings.Join(words, " ") + " recall --for-"
	err = changeHooks(path, func(hooks *jsonObject) error {
		for _, add := range [][2]string{
			{"UserPromptSubmit", hookGroup("", command+"prompt")}, {"PreToolUse", hookGroup(t.matcher, command+"file -")},
		} {
			groups, err := otherGroups(hooks.get(add[0]))
			if err != nil {
				return err
			}
			hooks.set(add[0], joinArray(append(groups, json.RawMessage(add[1]))))
		}
		return nil
	})
	return p.recallInstalled(err, t, name, path)
}

func (p findCommands) recallInstalled(err error, t recallTool, name, path string) error {
	if err != nil {
		return err
	}
	return p.print(map[string]string{"tool": name, "file": path}, func() string {
		return fmt.Sprintf("installed in %s\n%s\nundo: firn recall --uninstall %s\n", prose.Clean(path), t.hint, name)
	})
}

// uninstallRecall removes the hooks from a tool, and the file if nothing else is in it.
func (p findCommands) uninstallRecall(name string) error {
	t, path, err := p.recallTarget(name)
	if err != nil {
		return err
	}
	if t.matcher == "" {
		if err = ownExtension(path); err == nil {
			err = (vfs.OS{}).Remove(path)
		}
	} else {
		err = changeHooks(path, func(hooks *jsonObject) error {
			for _, m := range slices.Clone(hooks.members) {
				groups, err := otherGroups(m.value)
				if err != nil {
					return err
				}
				if len(groups) == 0 && strings.TrimSpace(string(m.value)) != "[]" {
					hooks.remove(m.name)
					continue
				}
				hooks.set(m.name, joinArray(groups))
			}
			return nil
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.print(map[string]string{"tool": name, "file": path}, func() string {
		return fmt.Sprintf("removed from %s\nundo: firn recall --install %s\n", prose.Clean(path), name)
	})
}

// ownExtension returns an error unless path is an extension that firn wrote.
func ownExtension(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && !bytes.HasPrefix(data, []byte(extensionMark)) {
		return failure.Of(firn.ErrConflict, "%s is not from firn", path)
	}
	return err
}

// writeToolFile writes a file of another tool, with its directory.
func writeToolFile(path string, data []byte) error {
	if err := (vfs.OS{}).MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return vfs.WriteFile(vfs.OS{}, path, data)
}

// changeHooks changes the member hooks of a JSON file. Other members stay as they are, in their
// order. A file that becomes empty is removed.
func changeHooks(path string, change func(*jsonObject) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	invalid := func(err error) error {
		return failure.Of(firn.ErrInvalid, "%s: expected JSON with hooks (%s); it was not changed", path, err)
	}
	file, err := parseObject(data)
	if err != nil {
		return invalid(err)
	}
	hooks := &jsonObject{}
	if raw := file.get("hooks"); raw != nil {
		if hooks, err = parseObject(raw); err != nil {
			return invalid(err)
		}
	}
	if err := change(hooks); err != nil {
		return invalid(err)
	}
	file.set("hooks", hooks.json())
	if len(hooks.members) == 0 {
		file.remove("hooks")
	}
	if len(file.members) == 0 {
		if err := (vfs.OS{}).Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, file.json(), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	return writeToolFile(path, out.Bytes())
}

// hookGroup returns a group of hooks with one command.
func hookGroup(matcher, command string) string {
	quoted, _ := json.Marshal(command) // a string
	text := `{"hooks": [{"type": "command", "command": ` + string(quoted) + `, "timeout": 10}]}`
	if matcher != "" {
		text = `{"matcher": "` + matcher + `", ` + text[1:]
	}
	return text
}

// otherGroups returns the groups of an event without those of firn.
func otherGroups(raw json.RawMessage) ([]json.RawMessage, error) {
	var groups []json.RawMessage
	if raw == nil {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(groups, func(raw json.RawMessage) bool {
		var group struct {
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		}
		return json.Unmarshal(raw, &group) == nil && len(group.Hooks) == 1 && recallCommandLine().MatchString(group.Hooks[0].Command)
	}), nil
}

func joinArray(all []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(toBytes(all), []byte(",")), []byte("]"))
}

func toBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, raw := range all {
		out[i] = raw
	}
	return out
}
