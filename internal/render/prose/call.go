package prose

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxSubject is the number of characters of a call's arguments in its title.
const maxSubject = 60

// callForm describes how the arguments of a tool are shown. The others are shown as their
// values.
type callForm struct {
	// contents are arguments that a title omits and a diff shows.
	contents []string
	// notes are formats of arguments that end a title. A format without %s is that of true.
	notes map[string]string
}

// formOf returns the form of a tool.
func formOf(tool string) callForm {
	switch tool {
	case "edit_file":
		return callForm{contents: []string{"edits"}}
	case "write_file":
		return callForm{contents: []string{"content"}, notes: map[string]string{"append": "(append)"}}
	case "shell":
		return callForm{notes: map[string]string{"background": "(in the background)", "timeout": "(timeout %s s)"}}
	}
	return callForm{}
}

// CallTitle returns a tool call on one line: its name and the values of its arguments,
// shortened. Contents of files are omitted.
func CallTitle(tool string, arguments json.RawMessage) string {
	form := formOf(tool)
	members := callMembers(arguments)
	words := []string{Clean(tool), OneLine(form.subject(members), maxSubject)}
	for _, m := range members {
		words = append(words, form.note(m))
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// CallDetails returns the arguments of a call, or nothing if its title shows all of them. If
// a diff is shown, contents of files are omitted.
func CallDetails(tool string, arguments json.RawMessage, diff bool) []string {
	form := formOf(tool)
	var members []callMember
	whole := true
	for _, m := range callMembers(arguments) {
		content := slices.Contains(form.contents, m.name)
		_, noted := form.notes[m.name]
		if form.note(m) != "" || noted && m.text == "false" || content && diff {
			continue
		}
		whole = whole && !content
		members = append(members, m)
	}
	if subject := form.subject(members); whole && OneLine(subject, maxSubject) == subject {
		return nil
	}
	if len(members) == 1 {
		return textLines(members[0].text)
	}
	var lines []string
	for _, m := range members {
		lines = append(lines, textLines(m.name+": "+m.text)...)
	}
	return lines
}

// textLines returns the lines of a text.
func textLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimRight(CleanLines(text), "\n"), "\t", "    "), "\n")
}

// note returns an argument as a title notes it, or nothing.
func (f callForm) note(m callMember) string {
	format, ok := f.notes[m.name]
	before, after, hasValue := strings.Cut(format, "%s")
	switch {
	case !ok, !hasValue && m.text != "true":
		return ""
	case hasValue:
		return before + OneLine(m.text, maxSubject) + after
	}
	return format
}

// subject returns the values of the arguments that a title shows.
func (f callForm) subject(members []callMember) string {
	var values []string
	for _, m := range members {
		if _, noted := f.notes[m.name]; !noted && !slices.Contains(f.contents, m.name) {
			values = append(values, m.text)
		}
	}
	return strings.Join(values, " ")
}

// callMember is an argument of a call: a string, or other JSON as it is. Arguments that are
// no object are one without a name.
type callMember struct{ name, text string }

// callMembers returns the arguments of a call in their order. Of a damaged object it returns
// those before the damage.
func callMembers(arguments json.RawMessage) []callMember {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []callMember{{text: string(arguments)}}
	}
	var members []callMember
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok || d.Decode(&value) != nil {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		members = append(members, callMember{name, text})
	}
	return members
}
