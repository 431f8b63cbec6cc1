package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p changeCommands) tagCommand() *cobra.Command {
	var drop []string
	var plan bool
	cmd := &cobra.Command{
		Use:     "tag SESSION [+TAG…] [-TAG…]",
		GroupID: "sessions",
		Short:   "Add, remove or list the tags of a session",
		Long: `Add, remove or list the tags of a session. firn ls --tag TAG lists the
sessions with a tag. -TAG removes a tag; +TAG or TAG adds one.

` + sessionHelp,
		Example: "  firn tag - +billing +urgent\n  firn tag 0198c5a2 -urgent\n  firn ls --tag billing",
		Args:    args(1, -1, "a session and tags"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.Flags().StringArrayVar(&drop, dropFlag, nil, "remove this `tag`")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		add := make([]string, len(args)-1)
		for i, tag := range args[1:] {
			add[i] = strings.TrimPrefix(tag, "+")
		}
		need := mayChange
		if len(add)+len(drop) == 0 {
			need = readOnly
		}
		return p.with(need, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err == nil && need == mayChange {
				tags := changeTags(s.Tags, add, drop)
				if plan {
					return p.plan(s.ID, "tag", fmt.Sprintf("would leave %s%s with %s", prose.Short(s.ID), quotedName(s.Title), cmp.Or(prose.Clean(strings.Join(tags, " ")), "no tags")))
				}
				return p.setTags(ctx, c, s, tags)
			}
			if err != nil {
				return err
			}
			return p.print(s, func() string { return tagsText(s) })
		})(cmd, args)
	}
	return cmd
}

// setTags replaces the tags of a session.
func (p changeCommands) setTags(ctx context.Context, c *client.Client, s wire.Session, tags []string) error {
	if slices.Equal(tags, changeTags(s.Tags, nil, nil)) {
		return p.print(s, func() string { return tagsText(s) + "the tags are already set; no changes made\n" })
	}
	now, err := c.Patch(ctx, s.ID, wire.Patch{Tags: &tags})
	if err != nil {
		return err
	}
	return p.print(now, func() string { return tagsText(now) + undoTags(s, now) })
}

// undoTags returns a line with the command that restores the old tags.
func undoTags(old, now wire.Session) string {
	words := []string{"undo: firn tag", prose.Short(now.ID)}
	for _, tag := range old.Tags {
		if !slices.Contains(now.Tags, tag) {
			words = append(words, quote("+"+tag))
		}
	}
	for _, tag := range now.Tags {
		if !slices.Contains(old.Tags, tag) {
			words = append(words, quote("-"+tag))
		}
	}
	return strings.Join(words, " ") + "\n"
}

// dropFlag is the flag that [tagArgs] substitutes for -tag.
const dropFlag = "drop"

// tagArgs rewrites the tags to remove in the arguments of firn tag as flags, because
// -urgent is not a known flag.
func tagArgs(args []string) []string {
	at := 0
	for at < len(args) && (strings.HasPrefix(args[at], "-") || args[at] == "sessions") {
		if args[at] == "--home" || args[at] == "--gateway" || args[at] == "--store" {
			at++ // skip its value
		}
		at++
	}
	if at >= len(args) || args[at] != "tag" {
		return args
	}
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		if tag, ok := strings.CutPrefix(args[i], "-"); ok && tag != "" && tag != "h" && tag[0] != '-' {
			args[i] = "--" + dropFlag + "=" + tag
		}
	}
	return args
}

// changeTags adds and removes tags.
func changeTags(tags, add, drop []string) []string {
	tags = append(slices.Clone(tags), add...)
	tags = slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(drop, tag) })
	slices.Sort(tags)
	return slices.Compact(append([]string{}, tags...))
}

// tagsText formats the tags of a session.
func tagsText(s wire.Session) string {
	if len(s.Tags) == 0 {
		return fmt.Sprintf("%s%s has no tags\n", prose.Short(s.ID), quotedName(s.Title))
	}
	return fmt.Sprintf("%s%s  %s\n", prose.Short(s.ID), quotedName(s.Title), strings.Join(s.Tags, " "))
}
