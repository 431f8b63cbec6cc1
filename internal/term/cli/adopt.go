package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// sourcesDir is the directory of mirrors in a home.
const sourcesDir = "sources"

// watchPause is the interval between two runs of a watch.
const watchPause = 2 * time.Second

// adoptCommands are the commands that mirror the folders of other tools.
type adoptCommands struct{ *program }

func (p adoptCommands) adoptCommand() *cobra.Command {
	var yes, watch, link, install, uninstall bool
	cmd := &cobra.Command{
		Use: "adopt [TOOL|DIR]...", GroupID: "formats",
		Short: "Find other tools' sessions; with --yes, mirror them",
		Long: `Find the session directories of Claude Code, Codex, pi, OpenClaw, CrabTalk,
Cersei, claw0, opencode, Gemini CLI, GitHub Copilot CLI, Crush, Goose, Cline, Roo
Code, Hermes Agent, Aider, Cursor and Zed. The list shows the sessions found and
when the tool will delete them. With --yes, firn keeps a mirror in its home, and
firn ls, show, search and chat include these sessions. Originals are only read,
and sessions that a tool deletes later stay in the mirror. If a session was
continued in firn too, the messages of the tool are added on another branch of
it. Only transcripts and their metadata are copied, never API keys or settings.
If --home is another tool's directory, that directory is mirrored into firn's own
home.

Files that cannot be read are listed at the end, with exit code 9; all others
are mirrored. A second run copies only new data; --watch keeps doing so. Files
are copied by default. --link makes hard links, which need no space, but a tool
that rewrites a file in place then changes the mirror too.

--install adds a service of systemd or launchd that runs firn adopt --yes --watch
whenever you are logged in; --uninstall removes it.`,
		Example: "  firn adopt\n  firn adopt --yes\n  firn adopt claude --yes --watch\n  firn adopt --install",
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "mirror the sessions found")
	flags.BoolVar(&watch, "watch", false, "keep mirroring new data until Ctrl-C")
	flags.BoolVar(&link, "link", false, "make hard links instead of copies where possible")
	flags.BoolVar(&install, "install", false, "add a service that keeps mirroring, and start it")
	flags.BoolVar(&uninstall, "uninstall", false, "stop and remove this service")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case install && uninstall, (install || uninstall) && (yes || watch):
			return usage(cmd, "--install and --uninstall cannot be combined with each other, --yes or --watch")
		case install:
			return p.installWatch(cmd.Context(), args, link)
		case uninstall:
			return p.uninstallWatch(cmd.Context())
		}
		if watch && !yes {
			return usage(cmd, "--watch requires --yes")
		}
		found, err := p.find(cmd.Context(), args)
		if err != nil {
			return err
		}
		if !yes || len(found) == 0 {
			return p.showFound(found)
		}
		return p.adopt(cmd.Context(), found, watch, link)
	}
	return cmd
}

// find looks for the folders of the named tools, or of all tools.
func (p adoptCommands) find(ctx context.Context, args []string) ([]adopt.Found, error) {
	user, others, err := p.toolHomes()
	if err != nil {
		return nil, err
	}
	if _, dir, ok := p.foreign(); ok && len(args) == 0 {
		args = []string{dir}
	}
	if len(args) == 0 {
		return adopt.Find(ctx, user, dialects.Readable()[1:], others)
	}
	var all []adopt.Found
	for _, arg := range args {
		found, err := findOne(ctx, user, arg, others)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// homeVariables are the environment variables with the folders of tools.
var homeVariables = map[dialect.Name]string{
	dialect.ClaudeCode: "CLAUDE_CONFIG_DIR", dialect.Codex: "CODEX_HOME",
	dialect.Pi: "PI_CODING_AGENT_DIR", dialect.OpenClaw: "OPENCLAW_STATE_DIR", dialect.Copilot: "COPILOT_HOME",
	dialect.Hermes: "HERMES_HOME",
}

// dataDirs are the folders of tools below XDG_DATA_HOME.
var dataDirs = map[dialect.Name]string{dialect.OpenCode: "opencode", dialect.Goose: "goose"}

// toolHomes returns the user's home directory and the tool folders that are set in the
// environment. The latter are returned even if there is no home directory.
func (p adoptCommands) toolHomes() (user string, others map[dialect.Name]string, err error) {
	others = make(map[dialect.Name]string)
	for tool, variable := range homeVariables {
		others[tool] = p.env(variable)
	}
	if data := p.env("XDG_DATA_HOME"); filepath.IsAbs(data) {
		for tool, name := range dataDirs {
			others[tool] = filepath.Join(data, name)
		}
	}
	if user = p.env("HOME"); user == "" {
		if user, err = os.UserHomeDir(); err != nil {
			return "", others, &usageError{message: "cannot find other tools' directories: there is no home directory", hint: "set HOME to the directory that holds them"}
		}
	}
	return user, others, nil
}

// mirrorHome returns the home for mirrors. It is never the folder of another tool,
// regardless of --home and FIRN_HOME.
func (p adoptCommands) mirrorHome(found []adopt.Found) (string, error) {
	home, err := p.homeDir()
	if err != nil {
		return "", err
	}
	usual, err := p.usualHome()
	if _, _, ok := p.foreign(); ok && err != nil {
		return "", err
	} else if ok || home == usual {
		return usual, nil
	}
	if home, err = filepath.Abs(home); err != nil {
		return "", fmt.Errorf("find home %s: %w", home, err)
	}
	user, others, err := p.toolHomes()
	if err != nil {
		return "", err
	}
	if theirs, ok := adopt.EnclosingHome(home, user, dialects.Readable()[1:], others, found); ok {
		return "", &usageError{message: fmt.Sprintf("cannot mirror into %s: it is inside %s, another tool's directory", home, theirs), hint: "choose a home with --home or FIRN_HOME"}
	}
	return home, nil
}

// findOne looks at a directory, or for the folder of a tool.
func findOne(ctx context.Context, user, arg string, others map[dialect.Name]string) ([]adopt.Found, error) {
	if tool, ok := dialects.Find(arg); ok && tool.Name() != dialect.Native {
		return adopt.Find(ctx, user, []dialect.Tool{tool}, others)
	}
	dir, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	tool, ok := dialects.OwnerOf(dir)
	if !ok {
		return nil, &usageError{message: fmt.Sprintf("%s is neither a tool nor a tool's directory", arg), hint: "tools: " + strings.Join(readableNames(), ", ")}
	}
	found, err := adopt.Inspect(ctx, dir, tool)
	return []adopt.Found{found}, err
}

// readableNames lists the tools whose sessions can be mirrored.
func readableNames() (names []string) {
	for _, t := range dialects.Readable()[1:] {
		names = append(names, string(t.Name()))
	}
	return names
}

// foundRow is the JSON form of a found folder.
type foundRow struct {
	Tool     dialect.Name `json:"tool"`
	Home     string       `json:"home"`
	Sessions int          `json:"sessions"`
	Subs     int          `json:"subSessions"`
	Bytes    int64        `json:"bytes"`
	Oldest   time.Time    `json:"oldest,omitzero"`
	Newest   time.Time    `json:"newest,omitzero"`
	// KeepsDays is the number of days after which the tool deletes sessions; 0 means never.
	KeepsDays int       `json:"keepsDays"`
	Next      time.Time `json:"nextDeletion,omitzero"`
	Faults    []string  `json:"faults,omitempty"`
}

// showFound prints the found folders.
func (p adoptCommands) showFound(found []adopt.Found) error {
	rows := make([]foundRow, len(found))
	for i, f := range found {
		rows[i] = foundRow{
			Tool: f.Tool.Name(), Home: f.Home, Sessions: f.Sessions, Subs: f.Subs, Bytes: f.Bytes,
			Oldest: f.Oldest, Newest: f.Newest, KeepsDays: int(f.Retention / (24 * time.Hour)), Faults: f.Faults,
		}
		rows[i].Next, _ = f.Next()
	}
	faults := faultLines(found)
	err := p.print(rows, func() string {
		if len(rows) == 0 {
			return "no sessions of other tools found\nto search a directory: firn adopt DIR\n"
		}
		now := time.Now()
		table := [][]string{{"TOOL", "SESSIONS", "SIZE", "OLDEST", "NEWEST", "DELETED BY TOOL", "DIRECTORY"}}
		for _, r := range rows {
			table = append(table, []string{string(r.Tool), sessionsText(r), prose.Size(r.Bytes), prose.Ago(r.Oldest, now), prose.Ago(r.Newest, now), timer(r), r.Home})
		}
		return strings.Join(append(append(prose.Columns(table, " rr"), faults...), "to mirror them (originals are not changed): firn adopt --yes"), "\n") + "\n"
	})
	if err == nil && len(faults) > 0 {
		return errPartial // they were printed
	}
	return err
}

// faultLines describes the databases that could not be read. A file of a tool with
// transcripts that is not one is no fault that users care about.
func faultLines(found []adopt.Found) (lines []string) {
	for _, f := range found {
		if _, ok := f.Tool.(dialect.Viewer); !ok {
			continue
		}
		for _, fault := range f.Faults {
			lines = append(lines, "cannot read, in "+f.Home+": "+prose.OneLine(fault, 200))
		}
	}
	return lines
}

// sessionsText returns the number of sessions, and of those of sub-agents, which have files of
// their own.
func sessionsText(r foundRow) string {
	text := prose.Grouped(int64(r.Sessions))
	if r.Subs > 0 {
		text += fmt.Sprintf(" (+%s of sub-agents)", prose.Grouped(int64(r.Subs)))
	}
	return text
}

// timer describes when a tool deletes sessions.
func timer(r foundRow) string {
	if r.KeepsDays == 0 {
		return "never"
	}
	return "after " + prose.Plural(r.KeepsDays, "day")
}

// adopted is the JSON form of a mirrored folder.
type adopted struct {
	Tool  dialect.Name `json:"tool"`
	Home  string       `json:"home"`
	Dir   string       `json:"mirror"`
	Files int          `json:"files"`
	New   int          `json:"new"`
	Grown int          `json:"grown"`
	Kept  int          `json:"keptOld"`
	// Healed is the number of damaged mirror files that were copied again.
	Healed int         `json:"healed"`
	Bytes  int64       `json:"bytes"`
	Failed []unadopted `json:"failed,omitempty"`
	// Ahead lists the sessions that were continued both in firn and in the tool.
	Ahead []ahead `json:"ahead,omitempty"`
}

// ahead is a session with messages in the tool's file that firn's own copy lacked.
type ahead struct {
	Session firn.ID `json:"session"`
	// Files are the parts of the session in the mirror.
	Files []string `json:"files"`
	// Added is the number of entries that were added to firn's copy, Branch the last of them
	// if they are on another branch than the head.
	Added  int64        `json:"added"`
	Branch firn.EntryID `json:"branch,omitempty"`
	// Error is why they could not be added; empty if they were.
	Error string `json:"error,omitempty"`
}

// unadopted is a file that could not be mirrored.
type unadopted struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

// adopt mirrors folders; with watch, repeatedly.
func (p adoptCommands) adopt(ctx context.Context, found []adopt.Found, watch, link bool) error {
	home, err := p.mirrorHome(found)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		results, err := p.mirrorAll(ctx, home, found, link)
		if err != nil && !(watch && errors.Is(err, context.Canceled)) {
			return err
		}
		if first || anything(results) {
			if err := p.print(results, func() string { return adoptedText(results) }); err != nil {
				return err
			}
		}
		if !watch {
			return incomplete(results)
		}
		pause := time.NewTimer(watchPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

// incomplete returns an error if some files were not mirrored, or messages of a tool were not
// added to firn's copy of a session. They were already printed.
func incomplete(results []adopted) error {
	for _, r := range results {
		if len(r.Failed) > 0 || slices.ContainsFunc(r.Ahead, func(a ahead) bool { return a.Error != "" }) {
			return errPartial
		}
	}
	return nil
}

func anything(results []adopted) bool {
	for _, r := range results {
		if r.New+r.Grown+r.Kept+r.Healed > 0 || slices.ContainsFunc(r.Ahead, func(a ahead) bool { return a.Error == "" && a.Added > 0 }) {
			return true
		}
	}
	return false
}

// mirrorAll updates the mirrors.
func (p adoptCommands) mirrorAll(ctx context.Context, home string, found []adopt.Found, link bool) ([]adopted, error) {
	var results []adopted
	for _, f := range found {
		show := p.newBar("mirroring " + string(f.Tool.Name()))
		m := &adopt.Mirror{
			Tool: f.Tool, Home: f.Home, Dir: filepath.Join(home, sourcesDir, adopt.DirName(f.Tool.Name(), f.Home)), FS: vfs.OS{}, Link: link, Now: time.Now,
			Progress: func(_, _ int, bytes int64) { show.Set(min(bytes, f.Bytes), f.Bytes) },
			Waiting:  func() { fmt.Fprintf(p.stderr, "another firn is mirroring %s; waiting\n", f.Home) },
		}
		done, err := m.Run(ctx)
		show.Clear()
		result := adoptedOf(m, done)
		ahead, importErr := p.importAll(ctx, home, m, done.Longer)
		result.Ahead = ahead
		results = append(results, result)
		if err = errors.Join(err, importErr); err != nil {
			return results, err
		}
	}
	return results, nil
}

// importAll adds the messages of grown files to firn's own copies of their sessions. What
// failed is tried again by the next run.
func (p adoptCommands) importAll(ctx context.Context, home string, m *adopt.Mirror, grown []string) ([]ahead, error) {
	var all []ahead
	var failed []string
	for _, d := range m.Diverged(p.ownSession(ctx, home), grown) {
		if d.Err != nil {
			failed = append(failed, d.Parts...)
			continue
		}
		a := p.importAhead(ctx, home, m.Tool, d)
		if a.Error != "" {
			failed = append(failed, d.Parts...)
		}
		all = append(all, a)
	}
	if ctx.Err() != nil {
		return all, nil
	}
	return all, m.Done(ctx, grown, failed)
}

// ownSession returns a function that reports whether the home has its own copy of a
// session, in addition to the mirror.
func (p adoptCommands) ownSession(ctx context.Context, home string) func(firn.ID) (bool, error) {
	ours := *p.program
	ours.home = home
	return func(id firn.ID) (bool, error) {
		c, release, err := ours.connect(ctx, GatewayOptions{ReadOnly: true, Report: func(string) {}})
		if err != nil {
			return false, err
		}
		s, err := c.Session(ctx, string(id))
		if errors.Is(err, firn.ErrNotFound) {
			err = nil
		}
		return s.ID == id && s.Source == "", errors.Join(err, release())
	}
}

// importAhead adds the messages of a tool to firn's own copy of a session, on a branch.
func (p adoptCommands) importAhead(ctx context.Context, home string, tool dialect.Tool, d adopt.Diverged) ahead {
	a := ahead{Session: d.ID, Files: d.Files}
	ours := *p.program
	ours.home = home
	c, release, err := ours.connect(ctx, GatewayOptions{Report: func(string) {}})
	if err == nil {
		var done wire.Imported
		in := wire.Import{From: string(tool.Name()), ID: d.ID, Title: d.Title, Name: filepath.Base(d.Files[0])}
		done, err = exchangeCommands{&ours}.importOne(ctx, c, transcript{in: in, files: d.Files}, func(int64) {})
		a.Added, a.Branch = done.Added, done.Branch
		err = errors.Join(err, release())
	}
	if err != nil {
		a.Error = prose.OneLine(err.Error(), 200)
	}
	return a
}

// aheadText describes a session that was continued both in firn and in a tool.
func aheadText(tool dialect.Name, a ahead) string {
	switch {
	case a.Error != "":
		return fmt.Sprintf("  %s was continued both in firn and in %s; the messages from %s could not be added: %s\n    the next firn adopt tries again; to try now: firn import %s\n", a.Session, tool, tool, a.Error, quoteAll(a.Files))
	case a.Branch != "":
		return fmt.Sprintf("  %s was continued both in firn and in %s: %s on another branch\n    to continue there: firn rewind %s %s\n", a.Session, tool, addedText(a.Added), a.Session, a.Branch)
	case a.Added == 0:
		return ""
	}
	return fmt.Sprintf("  %s: %s to firn's copy\n", a.Session, addedText(a.Added))
}

// adoptedOf returns the result of a mirror run.
func adoptedOf(m *adopt.Mirror, done adopt.Result) adopted {
	a := adopted{
		Tool: m.Tool.Name(), Home: m.Home, Dir: m.Dir, Files: done.Files, New: done.Copied + done.Linked,
		Grown: done.Grown, Kept: done.Kept, Healed: done.Repaired, Bytes: done.Bytes,
	}
	for _, f := range done.Failed {
		why := strings.TrimPrefix(reason(f.Err), "read the database "+f.Path+": ") // the file is named before it
		a.Failed = append(a.Failed, unadopted{filepath.Join(m.Home, filepath.FromSlash(f.Path)), why})
	}
	return a
}

// reason returns the message of an error without the path of a PathError.
func reason(err error) string {
	if at, ok := err.(*fs.PathError); ok {
		return at.Err.Error()
	}
	return err.Error()
}

func adoptedText(results []adopted) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s: %s checked, %d new, %d grown, %s copied\n", r.Tool, prose.Plural(r.Files, "file"), r.New, r.Grown, prose.Size(r.Bytes))
		if r.Kept > 0 {
			fmt.Fprintf(&b, "  %s rewritten by the tool: the old version is kept in the mirror\n", prose.Plural(r.Kept, "file"))
		}
		if r.Healed > 0 {
			fmt.Fprintf(&b, "  %s damaged in the mirror: copied again\n", prose.Plural(r.Healed, "file"))
		}
		for _, a := range r.Ahead {
			b.WriteString(aheadText(r.Tool, a))
		}
		if len(r.Failed) > 0 {
			fmt.Fprintf(&b, "  not mirrored: %s\n", prose.Count(len(r.Failed), "file or directory", "files or directories"))
		}
		for _, f := range r.Failed {
			fmt.Fprintf(&b, "    %s: %s\n", f.File, f.Error)
		}
	}
	b.WriteString("to list them: firn ls\n")
	return b.String()
}
