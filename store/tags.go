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

// Limits of tags.
const (
	// maxTags is the maximum number of tags of a session.
	maxTags = 32
	// maxTagLength is the maximum length of a tag in characters.
	maxTagLength = 40
)

// checkTag returns an error unless the text is a valid tag: 1 to 40 printable characters
// without commas and spaces, not starting with + or -, which are operators in commands.
func checkTag(tag string) error {
	switch {
	case tag == "" || utf8.RuneCountInString(tag) > maxTagLength:
		return fmt.Errorf("%w tag %.80q: it has 1 to %d characters", firn.ErrInvalid, tag, maxTagLength)
	case !utf8.ValidString(tag) || strings.ContainsFunc(tag, notInTags):
		return fmt.Errorf("%w tag %.80q: spaces, commas and unprintable characters are not allowed", firn.ErrInvalid, tag)
	case tag[0] == '+' || tag[0] == '-':
		return fmt.Errorf("%w tag %.80q: it must not start with + or -", firn.ErrInvalid, tag)
	}
	return nil
}

func notInTags(r rune) bool { return r == ',' || unicode.IsSpace(r) || !unicode.IsPrint(r) }

// NewTags returns an entry that sets the tags of a session. The tags are sorted, without
// duplicates.
func NewTags(tags []string) (firn.Entry, error) {
	kept := slices.Clone(tags)
	slices.Sort(kept)
	kept = slices.Compact(kept)
	if len(kept) > maxTags {
		return firn.Entry{}, fmt.Errorf("%w: %d tags are too many, %d are allowed", firn.ErrInvalid, len(kept), maxTags)
	}
	for _, tag := range kept {
		if err := checkTag(tag); err != nil {
			return firn.Entry{}, err
		}
	}
	data, err := json.Marshal(tagList{append([]string{}, kept...)})
	if err != nil {
		return firn.Entry{}, fmt.Errorf("encode tags: %w", err)
	}
	return firn.Entry{Body: &firn.Custom{Type: firn.TagsType, Data: data}}, nil
}

// claudeTag is the type of an imported Claude Code line that sets the tag of a session.
// Claude Code allows only one tag.
const claudeTag = "claudecode:tag"

// tagList is the data of a tags entry.
type tagList struct {
	Tags []string `json:"tags"`
}

// TagsOf returns the tags set by an entry, sorted, or false if it sets none. Invalid tags
// written by other software are converted if possible, else dropped.
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
		list.Tags = []string{list.Tag} // an empty one removes the tag
	}
	var tags []string
	for _, tag := range list.Tags {
		if tag = plainTag(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	return tags[:min(len(tags), maxTags)], true
}

// plainTag converts a text to a valid tag; empty if nothing is left of it.
func plainTag(text string) string {
	text, _ = firn.CleanText(text)
	words := strings.FieldsFunc(text, notInTags)
	text = strings.TrimLeft(strings.Join(words, "-"), "+-")
	if runes := []rune(text); len(runes) > maxTagLength {
		text = string(runes[:maxTagLength])
	}
	return text
}

// JoinTags encodes tags as a comma-separated string, so that infos can be compared.
// [SplitTags] is its inverse.
func JoinTags(tags []string) string { return strings.Join(tags, ",") }

// SplitTags decodes the result of JoinTags.
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
