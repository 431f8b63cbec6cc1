package firn

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// SectionsField is the extra field of a system message that holds named sections of the
// prompt, as pi writes them since 1.0: an object of texts. They follow the text of the
// message. A section replaces the one with the same name in an earlier message, and null
// removes it.
const SectionsField = "sections"

// SystemPrompt combines system messages into one prompt and returns its texts in order:
// first the texts of the messages, then the sections in effect.
func SystemPrompt(messages ...*Message) []string {
	var texts []string
	var inForce []section
	for _, m := range messages {
		if text := JoinText(m.Parts); text != "" {
			texts = append(texts, text)
		}
		for _, s := range sectionsOf(m) {
			at := slices.IndexFunc(inForce, func(old section) bool { return old.name == s.name })
			switch {
			case s.removed && at >= 0:
				inForce = slices.Delete(inForce, at, at+1)
			case at >= 0:
				inForce[at] = s
			case !s.removed:
				inForce = append(inForce, s)
			}
		}
	}
	for _, s := range inForce {
		if s.text != "" {
			texts = append(texts, s.text)
		}
	}
	return texts
}

// section is a named part of a system prompt.
type section struct {
	name, text string
	removed    bool
}

// sectionsOf returns the sections of a system message in order. It returns nil if they are
// not an object of texts.
func sectionsOf(m *Message) []section {
	raw := m.Extra.Get(SectionsField)
	if m.Role != RoleSystem || raw == nil {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var all []section
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil
		}
		var text *string
		if in.Decode(&text) != nil {
			return nil
		}
		s := section{removed: text == nil}
		if s.name, _ = name.(string); text != nil {
			s.text = *text
		}
		all = append(all, s)
	}
	return all
}

// Text joins the text parts of the message. For a system message it includes the sections.
func (m *Message) Text() string {
	if m.Role == RoleSystem && len(m.Extra) > 0 {
		return strings.Join(SystemPrompt(m), "\n\n")
	}
	return JoinText(m.Parts)
}
