package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/term/browse"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

const browseHelp = `Browse sessions in full screen: the list on the left, the conversation of
the selected session on the right. Screens below 60 columns show one of them.

The keys are those of the web pages: j and k move, Enter resumes the selected
session in the chat, and leaving the chat returns here, l and Tab go to the
conversation, where Enter expands an entry, Esc returns to the list, y copies,
/ filters the list or searches in the session, g f searches all sessions, 1, 2
and 3 show the log, the tree and the window, ? lists the keys and q quits.

The list and the conversation show what other terminals and clients write, as
they write it. --mouse, or the setting chat.mouse, lets the wheel scroll and
clicks select; the terminal then selects text with Shift.

Browsing changes nothing. Entries are read in pages, so that neither many
sessions nor long ones take time. Unreadable places are shown where they are,
with ⚠.

`

func (p overviewCommands) browseCommand() *cobra.Command {
	var q client.Query
	var result browse.Result
	cmd := &cobra.Command{
		Use:     "browse [SESSION]",
		GroupID: "look",
		Short:   "Browse sessions in full screen",
		Long:    browseHelp + sessionHelp,
		Example: "  firn browse\n  firn browse -\n  firn browse --cwd .", Args: args(0, 1, "at most one session"), ValidArgsFunction: p.completeSession(false),
	}
	var o browse.Options
	var flag bool
	var mouse *bool // the flag, if it is given
	browsing := p.with(measuring, func(ctx context.Context, c *client.Client, args []string) (err error) {
		o.Query = q
		result, err = p.browse(ctx, c, &o, mouse, args)
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if q.Directory != "" {
			var err error
			if q.Directory, err = filepath.Abs(q.Directory); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("mouse") {
			mouse = &flag
		}
		for {
			if err := browsing(cmd, args); err != nil || result == (browse.Result{}) {
				return err
			}
			o.Note = ""
			if err := p.chatIn(cmd.Context(), result); err != nil {
				o.Note = "the chat ended: " + err.Error()
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			o.Open, o.Title, o.InList, o.View, args = result.Chat, "", true, result.View, nil
		}
	}
	flags := cmd.Flags()
	flags.StringVarP(&q.Agent, "agent", "a", "", "only sessions of this `agent`")
	flags.StringVar(&q.Source, "source", "", "only sessions of this `source`: a mirrored directory of another tool, or firn for your own")
	flags.StringVar(&q.Tag, "tag", "", "only sessions with this `tag`")
	flags.StringVar(&q.Directory, "cwd", "", "only sessions started in this `directory`, or with messages sent from it")
	flags.BoolVar(&q.Archived, "archived", false, "archived sessions")
	flags.BoolVar(&q.Hidden, "hidden", false, "hidden sessions")
	flags.BoolVar(&flag, "mouse", false, "the wheel scrolls, and clicks select; default: the setting chat.mouse")
	return cmd
}

// browse shows sessions on the whole screen until the user leaves.
func (p overviewCommands) browse(ctx context.Context, c *client.Client, o *browse.Options, mouse *bool, args []string) (result browse.Result, err error) {
	in, ok1 := fileOf(p.stdin)
	out, ok2 := fileOf(p.stdout)
	if !ok1 || !ok2 || !line.IsTerminal(in) || !line.IsTerminal(out) || p.env("TERM") == "dumb" || p.json {
		return result, &hinted{failure.Of(firn.ErrUnsupported, "firn browse needs a terminal"), "firn ls lists sessions, firn cat SESSION prints one"}
	}
	o.Source, o.Styles, o.Now = c, true, p.now
	o.Window = func(w wire.Window) []string { return strings.Split(strings.TrimSuffix(windowItems(w), "\n"), "\n") }
	settings, err := p.settings()
	if err != nil {
		return result, err
	}
	if len(args) > 0 {
		s, err := p.session(ctx, c, args[0])
		if err != nil {
			return result, err
		}
		o.Open, o.Title = s.ID, cmp.Or(nameOf(s), string(s.ID))
	}
	if mouse == nil {
		mouse = &settings.Chat.Mouse
	}
	dev, release := line.Files(in, out)
	dev.Out = p.palette().Tint(dev.Out)
	defer release()
	screen, err := line.OpenScreen(dev, *mouse)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	o.Screen = screen
	return browse.Run(ctx, *o)
}

// chatIn runs firn chat in a session or a new one, with the global flags of this command.
func (p overviewCommands) chatIn(ctx context.Context, where browse.Result) error {
	arguments := []string{"chat", "--resume=" + string(where.Chat)}
	if where.New {
		arguments[1] = "--new"
	}
	for name, value := range map[string]string{"--home": p.home, "--gateway": p.address, "--store": p.store} {
		if value != "" {
			arguments = append(arguments, name, value)
		}
	}
	if p.inPlace {
		arguments = append(arguments, "--in-place")
	}
	root := p.root()
	root.SetArgs(arguments)
	return root.ExecuteContext(ctx)
}
