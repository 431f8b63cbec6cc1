package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/base/typo"
)

// Rule is an exception for some calls of a tool, written as TOOL or TOOL(PATTERN):
//
//	shell(git diff *)     a command that begins with these words
//	shell(make test)      this command exactly
//	edit(src/**)          edit_file and write_file below src
//	read_file(/etc/hosts) this file outside of the workspace
//	web_fetch(*.go.dev)   pages of these hosts
//	mcp_*                 every call of the tools with these names
type Rule struct {
	// Tool is the name of a tool, with * for any characters. "edit" means edit_file and
	// write_file.
	Tool string
	// Pattern matches the subject of a call: a command, a path or a host. Empty matches
	// every call.
	Pattern string
}

// String returns the rule as ParseRule reads it.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// maxRule limits the length of a rule.
const maxRule = 1000

// ParseRule parses a rule.
func ParseRule(text string) (Rule, error) {
	bad := func(why string) (Rule, error) {
		return Rule{}, fmt.Errorf("%w rule %q: %s", firn.ErrInvalid, firn.CutText(text, 80), why)
	}
	tool, rest, has := strings.Cut(strings.TrimSpace(text), "(")
	pattern, closed := strings.CutSuffix(rest, ")")
	switch {
	case len(text) > maxRule:
		return bad("it is too long")
	case tool == "" || strings.ContainsAny(tool, " \t\n()"):
		return bad("a tool and a pattern in parentheses are needed, such as shell(git diff *)")
	case has && (!closed || strings.TrimSpace(pattern) == ""):
		return bad("the pattern is empty or its parenthesis is not closed")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("it contains a control character")
	}
	return Rule{Tool: tool, Pattern: strings.TrimSpace(pattern)}, nil
}

// ParseRules parses rules and returns the first error.
func ParseRules(texts []string) ([]Rule, error) {
	rules := make([]Rule, 0, len(texts))
	for _, t := range texts {
		r, err := ParseRule(t)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// editAlias is the name for the tools that change files.
const editAlias = "edit"

// fits reports whether the rule is about a tool.
func (r Rule) fits(tool string) bool {
	return r.Tool == editAlias && EffectOf(tool) == Edit || wildcard(r.Tool, tool)
}

// allows reports whether the rule allows a call. A rule with a pattern allows a command
// only if it is a single simple command that names no path outside of the workspace, and a
// path only if it is inside, or if the pattern is an absolute path.
func (r Rule) allows(call Call) bool {
	if !r.fits(call.Tool) {
		return false
	}
	if p := OutsidePath(call); p != "" {
		return r.allowsOutside(call.Workspace, p)
	}
	if r.Pattern == "" {
		return true
	}
	switch EffectOf(call.Tool) {
	case Edit, Read:
		p, inside := call.relative(stringArgument(call.Arguments, "path"))
		return inside && globMatch(r.Pattern, p)
	case Fetch:
		return wildcard(strings.ToLower(r.Pattern), host(call.Arguments))
	}
	command := strings.TrimSpace(stringArgument(call.Arguments, "command"))
	if command == "" {
		return false
	}
	if command == r.Pattern {
		return true
	}
	prefix, open := strings.CutSuffix(r.Pattern, " *")
	if !open || !Simple(command) || call.namesOutside(command) {
		return false
	}
	words, want := strings.Fields(command), strings.Fields(prefix)
	return len(words) >= len(want) && slices.Equal(words[:len(want)], want)
}

// denies reports whether the rule denies a call. Unlike allows, a pattern of a command also
// matches a part of a compound command.
func (r Rule) denies(call Call) bool {
	if !r.fits(call.Tool) {
		return false
	}
	if r.Pattern == "" || r.allows(call) {
		return true
	}
	if EffectOf(call.Tool) != Run {
		return false
	}
	want := strings.Fields(strings.TrimSuffix(r.Pattern, " *"))
	for _, part := range separators().Split(stringArgument(call.Arguments, "command"), -1) {
		words := strings.Fields(part)
		for at := range words {
			if len(words)-at >= len(want) && slices.Equal(words[at:at+len(want)], want) {
				return true
			}
		}
	}
	return false
}

// separators separate the commands of a compound command.
var separators = pattern.New("[;&|\n(){}`]+|\\$\\(")

// Simple reports whether a command is a single one: without operators, substitutions,
// redirections, assignments and line ends.
func Simple(command string) bool {
	if strings.ContainsAny(command, ";&|<>`$\n\r(){}\\!") {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	return first != "" && !strings.Contains(first, "=")
}

// namesOutside reports whether a word of a command may be a path outside of the workspace.
func (c Call) namesOutside(command string) bool {
	for _, word := range strings.Fields(command)[1:] {
		word = strings.Trim(word, `"'`)
		if _, value, ok := strings.Cut(word, "="); ok {
			word = strings.Trim(value, `"'`)
		}
		parent := strings.Contains(strings.ReplaceAll(word, "...", ""), "..") // ./... is a pattern of Go
		if parent || strings.HasPrefix(word, "~") || strings.Contains(word, "://") {
			return true
		}
		if at := strings.IndexByte(word, '/'); at == 0 || at > 0 && word[0] == '-' { // -I/path
			if _, inside := c.relative(word[at:]); !inside {
				return true
			}
		}
	}
	return false
}

// relative returns a path relative to the workspace, and whether it is inside. A path that
// leaves the workspace and returns to it, such as ../project/a, is inside.
func (c Call) relative(p string) (string, bool) {
	if p == "" || strings.ContainsRune(p, 0) {
		return "", false
	}
	full := absolute(c.Workspace, p)
	if c.Workspace == "" {
		return full, full != ".." && !strings.HasPrefix(full, "../") && !strings.HasPrefix(full, "/")
	}
	for _, dir := range []string{c.Workspace, c.Resolved} {
		base := strings.TrimSuffix(path.Clean(slashes(dir, dir)), "/")
		rest, ok := strings.CutPrefix(full, base)
		if dir != "" && ok && (rest == "" || rest[0] == '/') {
			return path.Clean("./" + strings.TrimPrefix(rest, "/")), true
		}
	}
	return "", false
}

// wildcard reports whether a text matches a pattern in which * means any characters.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// globMatch reports whether a path matches a glob: * within a name, ** across directories.
func globMatch(pattern, p string) bool {
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "./"), "/"), strings.Split(p, "/"))
}

func matchParts(pattern, p []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			pattern = pattern[1:]
			for skip := range len(p) + 1 {
				if matchParts(pattern, p[skip:]) {
					return true
				}
			}
			return false
		}
		if len(p) == 0 || !wildcard(pattern[0], p[0]) {
			return false
		}
		pattern, p = pattern[1:], p[1:]
	}
	return len(p) == 0
}

// stringArgument returns an argument that is a string; empty if it is not. An argument
// that is there twice, also in another case, is empty: it is not certain which one the tool
// takes.
func stringArgument(arguments json.RawMessage, name string) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	found, value := 0, ""
	for d.More() {
		key, err := d.Token()
		var raw json.RawMessage
		if err != nil || d.Decode(&raw) != nil {
			return ""
		}
		k, _ := key.(string)
		if !strings.EqualFold(k, name) {
			continue
		}
		found++
		if k != name || json.Unmarshal(raw, &value) != nil {
			return ""
		}
	}
	if _, err := d.Token(); err != nil || found != 1 {
		return ""
	}
	return value
}

// host returns the host that a call fetches.
func host(arguments json.RawMessage) string {
	u, err := url.Parse(strings.TrimSpace(stringArgument(arguments, "url")))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// subcommands are programs whose second word says what they do.
var subcommands = strings.Fields("git go npm pnpm yarn cargo make docker podman kubectl pip uv python -m terraform gh brew apt systemctl bundle mix dotnet")

// Suggest returns the rule that is offered for "always" answers to a call: the beginning of
// a simple command, the directory of a file, the host of a page; for a file outside of the
// workspace that file only. A compound command is offered as it is.
func Suggest(call Call) Rule {
	if p := OutsidePath(call); p != "" {
		return suggestOutside(call.Tool, p)
	}
	switch EffectOf(call.Tool) {
	case Edit:
		p, inside := call.relative(stringArgument(call.Arguments, "path"))
		if !inside {
			return Rule{}
		}
		if dir := path.Dir(p); dir != "." {
			p = dir + "/**"
		}
		return valid(Rule{editAlias, p})
	case Fetch:
		return valid(Rule{call.Tool, host(call.Arguments)})
	}
	if call.Tool != "shell" {
		return valid(Rule{Tool: call.Tool})
	}
	command := strings.TrimSpace(stringArgument(call.Arguments, "command"))
	words := strings.Fields(command)
	if !Simple(command) || call.namesOutside(command) {
		return valid(Rule{call.Tool, command})
	}
	n := 1
	if len(words) > 1 && slices.Contains(subcommands, words[0]) && !strings.HasPrefix(words[1], "-") {
		n = 2
	}
	return valid(Rule{call.Tool, strings.Join(words[:n], " ") + " *"})
}

// serverTools is the beginning of the names of tools that MCP servers offer.
const serverTools = "mcp__"

// CheckTool returns an error if no tool has the name in the rule, with the closest name that
// one has. Tools of MCP servers are not known here: names that begin with theirs are accepted.
func (r Rule) CheckTool() error {
	names := slices.Sorted(maps.Keys(effects))
	if r.Tool == editAlias || strings.HasPrefix(r.Tool, serverTools) || strings.Contains(r.Tool, "*") || slices.Contains(names, r.Tool) {
		return nil
	}
	why := fmt.Sprintf("no tool is called %s", r.Tool)
	if near := typo.Nearest(r.Tool, append(names, editAlias), 2); near != "" {
		why += fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%w rule %q: %s", firn.ErrInvalid, firn.CutText(r.String(), 80), why)
}

// valid returns the rule if it means the same when it is parsed, else the zero value: some
// commands cannot be written as a rule.
func valid(r Rule) Rule {
	if back, err := ParseRule(r.String()); err != nil || back != r {
		return Rule{}
	}
	return r
}
