package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
)

// Bounds of tags.
const (
	// MostTags is how many tags a session has at most.
	MostTags = 32
	// LongestTag bounds a tag, in characters.
	LongestTag = 40
)

// CheckTag returns nil if a text can be a tag: one to forty characters, none of
// them a comma, a space or one that cannot be printed. It does not begin with
// + or -, which say what is done to a tag.
func CheckTag(tag string) error {
	switch {
	case tag == "" || utf8.RuneCountInString(tag) > LongestTag:
		return fmt.Errorf("%w tag %.80q: it has 1 to %d characters", firn.ErrInvalid, tag, LongestTag)
	case !utf8.ValidString(tag) || strings.ContainsFunc(tag, notInTags):
		return fmt.Errorf("%w tag %.80q: it has no spaces, commas or characters that cannot be printed", firn.ErrInvalid, tag)
	case tag[0] == '+' || tag[0] == '-':
		return fmt.Errorf("%w tag %.80q: it does not begin with + or -", firn.ErrInvalid, tag)
	}
	return nil
}

func notInTags(r rune) bool { return r == ',' || unicode.IsSpace(r) || !unicode.IsPrint(r) }

// NewTags makes the entry that says which tags a session has from now on. They
// are put in order, and each is there once.
func NewTags(tags []string) (firn.Entry, error) {
	kept := slices.Clone(tags)
	slices.Sort(kept)
	kept = slices.Compact(kept)
	if len(kept) > MostTags {
		return firn.Entry{}, fmt.Errorf("%w: %d tags are too many, %d are allowed", firn.ErrInvalid, len(kept), MostTags)
	}
	for _, tag := range kept {
		if err := CheckTag(tag); err != nil {
			return firn.Entry{}, err
		}
	}
	data, err := json.Marshal(tagList{append([]string{}, kept...)})
	if err != nil {
		return firn.Entry{}, fmt.Errorf("spell tags: %w", err)
	}
	return firn.Entry{Body: &firn.Custom{Type: firn.TagsType, Data: data}}, nil
}

// claudeTag is the type of an entry that carries a line of Claude Code which
// puts a tag on the session; it knows one at a time.
const claudeTag = "claudecode:tag"

// tagList is what the entry holds.
type tagList struct {
	Tags []string `json:"tags"`
}

// TagsOf returns the tags that an entry settles, in order; false if it settles
// none. What cannot be a tag, because somebody else wrote it, is made one as
// well as that goes, or left out.
func TagsOf(c *firn.Custom) ([]string, bool) {
	if c.Type != firn.TagsType && c.Type != claudeTag {
		return nil, false
	}
	var list struct {
		tagList
		Tag string `json:"tag"`
	}
	if json.Unmarshal(c.Data, &list) != nil {
		return nil, false
	}
	if c.Type == claudeTag {
		list.Tags = []string{list.Tag} // an empty one takes it away
	}
	var tags []string
	for _, tag := range list.Tags {
		if tag = plainTag(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	return tags[:min(len(tags), MostTags)], true
}

// plainTag makes a tag of a text; empty if nothing is left of it.
func plainTag(text string) string {
	text, _ = firn.CleanText(text)
	words := strings.FieldsFunc(text, notInTags)
	text = strings.TrimLeft(strings.Join(words, "-"), "+-")
	if runes := []rune(text); len(runes) > LongestTag {
		text = string(runes[:LongestTag])
	}
	return text
}

// JoinTags spells tags as one text, with commas between them: so two infos can
// be compared. [SplitTags] is its inverse.
func JoinTags(tags []string) string { return strings.Join(tags, ",") }

// SplitTags reads what JoinTags spelt.
func SplitTags(tags string) []string {
	if tags == "" {
		return nil
	}
	return strings.Split(tags, ",")
}

// Tagged reports whether a session has a tag.
func (i *Info) Tagged(tag string) bool {
	for name := range strings.SplitSeq(i.Tags, ",") {
		if name == tag && tag != "" {
			return true
		}
	}
	return false
}
