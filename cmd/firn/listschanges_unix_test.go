//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// listChanges holds the changes of TestListsMatchTranscripts by name: by the program, over
// HTTP, or by the library. Each receives a session and reports whether it changed anything.
var listChanges = make(map[string]func(l *lists, id string) bool)

func init() {
	for name, args := range programChanges {
		listChanges["firn "+name] = func(l *lists, id string) bool {
			_, ok := l.firn(strings.ReplaceAll(stdinOf[name], "TEXT", l.name("said")), l.words(args, id)...)
			return ok
		}
	}
	for name, change := range gatewayChanges {
		listChanges["gateway "+name] = func(l *lists, id string) bool { return l.ok(change(l, l.serve(), firn.ID(id))) }
	}
	for name, change := range libraryChanges {
		listChanges["library "+name] = func(l *lists, id string) bool { return l.write(change, firn.ID(id)) }
	}
	listChanges["firn chat --ends"] = (*lists).chatAndEnd
	listChanges["gateway killed"] = (*lists).kill
	listChanges["gateway stopped"] = (*lists).stop
}

// programChanges are commands. Words in capitals are placeholders.
var programChanges = map[string]string{
	"new":              "new --title NAME",
	"new --key":        "new --key KEY",
	"chat":             "chat -r ID -p NAME",
	"chat --key":       "chat --key KEY -p NAME",
	"append":           "append ID --user NAME",
	"append --long":    "append ID --user LONG",
	"append -":         "append - --user NAME",
	"append --lines":   "append ID",
	"archive":          "archive ID",
	"archive --undo":   "archive --undo ID",
	"fork":             "fork ID",
	"fork --key":       "fork ID --key KEY --title NAME",
	"label":            "label ID ENTRY NAME",
	"rename":           "rename ID NAME",
	"rename --remove":  "rename ID --remove",
	"rm":               "rm ID",
	"rm --entry":       "rm ID --entry ENTRY",
	"rm --bin":         "rm --bin ID",
	"restore":          "restore ID",
	"restore --entry":  "restore ID ENTRY",
	"bin restore":      "bin restore BINNED",
	"rewind":           "rewind ID",
	"rewind --to":      "rewind ID ENTRY",
	"rewind --summary": "rewind ID --summary",
	"tag":              "tag ID +TAG",
	"tag --drop":       "tag ID --drop TAG",
	"compact":          "compact ID --keep-recent 10",
	"uncompact":        "uncompact ID",
	"uncompact --redo": "uncompact ID --redo",
	"keys set":         "keys set KEY ID",
	"keys reset":       "keys reset KEY",
	"keys previous":    "keys previous KEY",
	"keys rm":          "keys rm KEY",
	"purge":            "purge ID --sure ID",
	"purge --entry":    "purge ID ENTRY --sure ID",
	"import":           "import -",
	"maintenance":      "maintenance --enforce",
	"repair":           "repair ID --apply",
	"reindex":          "reindex",
	"mirror":           "mirror COPY",
	"backup create":    "backup create BACKUP",
}

// stdinOf holds the standard input of some of them.
var stdinOf = map[string]string{
	"append --lines": `{"type":"message","message":{"role":"user","content":"TEXT"}}` + "\n",
	"import": `{"type":"session","version":3,"id":"TEXT","timestamp":"2020-01-01T00:00:00.000Z","cwd":"/"}` + "\n" +
		`{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2020-01-01T00:00:01.000Z","message":{"role":"user","content":"long ago, TEXT","timestamp":1577836801000}}` + "\n",
}

// words are the arguments of a command.
func (l *lists) words(line, id string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		switch word {
		case "ID":
			words[i] = id
		case "KEY":
			words[i] = l.key()
		case "NAME":
			words[i] = l.name("called")
		case "LONG":
			words[i] = l.name("long") + strings.Repeat(" and so on", 600)
		case "ENTRY":
			words[i] = l.entry(id)
		case "TAG", "+TAG":
			words[i] = strings.TrimSuffix(word, "TAG") + fmt.Sprint("t", l.random.IntN(4))
		case "BINNED":
			words[i] = l.binned()
		case "COPY":
			words[i] = l.home + "-copy"
		case "BACKUP":
			words[i] = filepath.Join(filepath.Dir(l.home), strings.ReplaceAll(l.name("backup"), " ", "-"))
		}
	}
	return words
}

// binned is a session in the trash bin, or a name of none.
func (l *lists) binned() string {
	st, err := filestore.Open(l.home, filestore.Options{ReadOnly: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer st.Close()
	all, err := st.Holdings(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, h := range all {
		if h.Removed {
			return string(h.ID)
		}
	}
	return "none"
}

func patched(p wire.Patch) func(*lists, *client.Client, firn.ID) error {
	return func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Patch(l.t.Context(), id, p)
		return err
	}
}

// gatewayChanges are requests.
var gatewayChanges = map[string]func(l *lists, c *client.Client, id firn.ID) error{
	"new": func(l *lists, c *client.Client, _ firn.ID) error {
		_, err := c.NewSession(l.t.Context(), wire.NewSession{Key: l.key(), Fresh: l.random.IntN(2) == 0})
		return err
	},
	"turn": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Turn(l.t.Context(), id, wire.Turn{Text: l.name("hello")})
		return err
	},
	"turn after it": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Turn(l.t.Context(), id, wire.Turn{Text: l.name("hello"), Wait: new(false)})
		return err
	},
	"append": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Append(l.t.Context(), id, store.Any, wire.NewEntries{User: l.name("said") + strings.Repeat(" and on", 600)})
		return err
	},
	"title": func(l *lists, c *client.Client, id firn.ID) error {
		return patched(wire.Patch{Title: new(l.name("titled"))})(l, c, id)
	},
	"no title": patched(wire.Patch{Title: new("")}), "archive": patched(wire.Patch{Archived: new(true)}), "unarchive": patched(wire.Patch{Archived: new(false)}),
	"hide": patched(wire.Patch{Hidden: new(true)}), "show": patched(wire.Patch{Hidden: new(false)}), "thinking": patched(wire.Patch{Thinking: new("high")}),
	"tags": patched(wire.Patch{Tags: &[]string{"a", "b"}}), "no tags": patched(wire.Patch{Tags: &[]string{}}),
	"fork": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Fork(l.t.Context(), id, wire.Fork{At: firn.EntryID(l.entry(string(id)))})
		return err
	},
	"rewind": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Rewind(l.t.Context(), id, wire.Move{Back: 1 + l.random.IntN(2)})
		return err
	},
	"compact": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Compact(l.t.Context(), id, wire.Compact{KeepRecent: 1})
		return err
	},
	"uncompact": func(l *lists, c *client.Client, id firn.ID) error {
		all, err := c.Compactions(l.t.Context(), id)
		if err == nil && len(all) > 0 {
			_, err = c.Undo(l.t.Context(), id, all[len(all)-1].ID)
		}
		return err
	},
	"label": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Label(l.t.Context(), id, wire.Label{Entry: "@head", Name: l.name("label")})
		return err
	},
	"hide entry": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Hide(l.t.Context(), id, wire.Hide{Entry: l.entry(string(id))})
		return err
	},
	"inbound": func(l *lists, c *client.Client, _ firn.ID) error {
		text := l.name("hi")
		if l.random.IntN(3) == 0 {
			text = "/new"
		}
		_, err := c.Inbound(l.t.Context(), wire.Inbound{Channel: "cli", PeerKind: "direct", PeerID: fmt.Sprint("p", l.random.IntN(3)), Text: text, Wait: true})
		return err
	},
	"point key": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Keys.Point(l.t.Context(), l.key(), id)
		return err
	},
	"reset key": func(l *lists, c *client.Client, _ firn.ID) error {
		_, err := c.Keys.Reset(l.t.Context(), l.key())
		return err
	},
	"previous": func(l *lists, c *client.Client, _ firn.ID) error {
		_, err := c.Keys.ContinuePrevious(l.t.Context(), l.key())
		return err
	},
	"bin": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Remove(l.t.Context(), id, wire.Remove{Bin: true})
		return err
	},
	"purge": func(l *lists, c *client.Client, id firn.ID) error {
		_, err := c.Purge(l.t.Context(), id, wire.Erase{Entries: []firn.EntryID{firn.EntryID(l.entry(string(id)))}, Sure: id})
		return err
	},
}

// libraryChanges are calls of a store, as a program makes them that has no gateway.
var libraryChanges = map[string]func(l *lists, st *filestore.Store, id firn.ID) error{
	"append": func(l *lists, st *filestore.Store, id firn.ID) error {
		_, err := st.Append(l.t.Context(), id, store.Any, firn.UserText(l.name("said")), firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: l.name("answered")}}}))
		return err
	},
	"auto title": func(l *lists, st *filestore.Store, id firn.ID) error {
		_, err := st.Append(l.t.Context(), id, store.Any, firn.NewEntry(&firn.Title{Name: l.name("auto"), Source: firn.SourceAuto}))
		return err
	},
	// TestListHasSessionsOfTheLibrary creates sessions with the library alone; this one
	// continues existing sessions.
	"load": func(l *lists, st *filestore.Store, _ firn.ID) error {
		id, err := st.Lookup(l.t.Context(), l.key())
		if err == nil {
			_, err = st.Append(l.t.Context(), id, store.Any, firn.UserText(l.name("said")))
		}
		return err
	},
	"bind": func(l *lists, st *filestore.Store, id firn.ID) error {
		return store.Bind(l.t.Context(), st, l.key(), id)
	},
	"archive": func(l *lists, st *filestore.Store, id firn.ID) error { return st.Archive(l.t.Context(), id) },
	"remove":  func(l *lists, st *filestore.Store, id firn.ID) error { return st.Remove(l.t.Context(), id, "test") },
}

// write makes a change by the library.
func (l *lists) write(change func(*lists, *filestore.Store, firn.ID) error, id firn.ID) bool {
	l.t.Helper()
	st, err := filestore.Open(l.home, filestore.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	err = change(l, st, id)
	if closeErr := st.Close(); closeErr != nil {
		l.t.Errorf("%s: %v", l.step, closeErr)
	}
	return err == nil
}

// chatAndEnd types several lines into a chat.
func (l *lists) chatAndEnd(string) bool {
	_, ok := l.firn(l.name("hello")+"\n/rename "+l.name("typed")+"\n"+l.name("more")+"\n/new\n", "chat")
	return ok
}

// kill kills the gateway during an answer that is not awaited.
func (l *lists) kill(id string) bool {
	c := l.serve()
	_, err := c.Turn(l.t.Context(), firn.ID(id), wire.Turn{Text: l.name("hello"), Wait: new(false)})
	l.ok(err)
	l.endGateway()
	return true
}

// stop asks the gateway to end.
func (l *lists) stop(string) bool {
	l.serve()
	l.gateway.Process.Signal(syscall.SIGTERM)
	err := l.gateway.Wait()
	if err != nil {
		l.t.Errorf("%s: the gateway ended with %v", l.step, err)
	}
	l.c.Close()
	l.gateway, l.c = nil, nil
	return err == nil
}
