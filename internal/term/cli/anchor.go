package cli

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/anchor"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
)

// anchorKeyName is the file of the home's key for anchors.
const anchorKeyName = "anchor.key"

func (p checkCommands) anchorCommand() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:     "anchor [FILE]",
		GroupID: "care",
		Short:   "Record the signed state of all sessions, to detect later changes",
		Long: `Record the state of all sessions of the home in a signed file, called an
anchor. firn verify --since FILE proves later that every session still contains
what it contained then, unchanged and in the same order. Erased entries are
counted: their content cannot be proven any more.

The default file name is firn-anchor-DATE-TIME.json in the current directory; -
writes to stdout. An existing file is never overwritten. Keep a copy where
those you do not trust cannot write, such as a git repository on another
machine; the root that is printed, on paper or with a timestamping service,
proves that the copy is the right one. The file contains session and entry ids
and hashes, no text.

It is signed with the ed25519 key anchor.key in the home, which is created if
there is none, or with the one that --key names (a PEM file as openssl genpkey
-algorithm ed25519 writes it). An anchor reads only the last line of a session:
run firn verify first to check that the sessions are intact now.`,
		Example: "  firn anchor\n  firn anchor ~/notes/anchors/today.json\n  firn verify --since ~/notes/anchors/today.json",
		Args:    args(0, 1, "at most one file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.anchor(cmd, args, keyFile) },
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "sign with the ed25519 key in this `file`")
	return cmd
}

// anchorResult is the result of creating an anchor.
type anchorResult struct {
	File     string `json:"file,omitempty"`
	Sessions int    `json:"sessions"`
	Root     string `json:"root"`
	Key      string `json:"key"`
	// Without are the sessions that are not in the anchor.
	Without []firn.ID `json:"without,omitempty"`
	// NewKey is the file of the key if it was created.
	NewKey string `json:"newKey,omitempty"`
}

func (p checkCommands) anchor(cmd *cobra.Command, args []string, keyFile string) error {
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	st, err := p.storeInUse(cmd.Context())
	if err != nil {
		return err
	}
	if st.files == "" {
		return &hinted{fmt.Errorf("anchor sessions that are not in files: %w", firn.ErrUnsupported), "firn mirror copies them to files, which can be anchored with --home"}
	}
	target, err := st.target(nil)
	if err != nil {
		return err
	}
	heads, without, err := doctor.Heads(cmd.Context(), target)
	if err != nil {
		return err
	}
	result := anchorResult{File: "firn-anchor-" + p.now().Format("20060102-150405") + ".json", Sessions: len(heads), Without: without}
	if len(args) > 0 {
		result.File = args[0]
	}
	key, err := p.anchorKey(st.home, keyFile, &result)
	if err != nil {
		return err
	}
	sessions := make([]anchor.Session, len(heads))
	for i, h := range heads {
		sessions[i] = anchor.Session{ID: h.Session, State: h.State.String(), Entry: h.Entry}
	}
	a := anchor.New(p.now(), sessions, key)
	result.Root, result.Key = a.Root, a.Key
	return p.writeAnchor(a, &result)
}

// anchorKey returns the key to sign with.
func (p checkCommands) anchorKey(home, file string, result *anchorResult) (ed25519.PrivateKey, error) {
	if file != "" {
		return anchor.ReadKey(vfs.OS{}, file)
	}
	path := filepath.Join(home, anchorKeyName)
	key, created, err := anchor.OwnKey(sealfs.Home(home), path)
	if created {
		result.NewKey = path
	}
	return key, err
}

// writeAnchor writes an anchor to its file, or to stdout, and prints the result.
func (p checkCommands) writeAnchor(a *anchor.Anchor, result *anchorResult) error {
	data, err := a.Encode()
	if err != nil {
		return err
	}
	if result.File == "-" {
		_, err := p.stdout.Write(data)
		return err
	}
	if err := anchor.WriteNew(vfs.OS{}, result.File, data); errors.Is(err, fs.ErrExist) {
		return &hinted{fmt.Errorf("create %s: %w: file exists", result.File, firn.ErrConflict), "choose another file name"}
	} else if err != nil {
		return err
	}
	return p.print(result, result.text)
}

func (r *anchorResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "wrote %s: %s\n", r.File, prose.Plural(r.Sessions, "session"))
	for _, id := range r.Without {
		fmt.Fprintf(&b, "not in it: session %s, which is empty or cannot be read; see firn verify\n", id)
	}
	if r.NewKey != "" {
		fmt.Fprintf(&b, "created the key %s\n", r.NewKey)
	}
	fmt.Fprintf(&b, "root  %s\nkey   %s\n", r.Root, r.Key)
	fmt.Fprintf(&b, "Keep a copy where others cannot write. Later: firn verify --since %s\n", r.File)
	return b.String()
}

// anchored reads an anchor for firn verify --since. trusted is the public key that must have
// signed it; empty accepts any.
func (p checkCommands) anchored(file, trusted string) ([]doctor.Head, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a, err := anchor.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if trusted != "" && a.Key != trusted {
		return nil, &hinted{fmt.Errorf("%s is signed with the key %s, not with the one of --trust: %w", file, a.Key, firn.ErrInvalid), "--trust takes the public key that firn anchor printed"}
	}
	heads := make([]doctor.Head, len(a.Sessions))
	for i, s := range a.Sessions {
		state, err := hashchain.ParseState(s.State)
		if err != nil {
			return nil, err
		}
		heads[i] = doctor.Head{Session: s.ID, State: state, Entry: s.Entry}
	}
	p.note(fmt.Sprintf("root %s", a.Root))
	p.note(fmt.Sprintf("anchor of %s with %s, signed with the key %s%s", a.Time.Local().Format("2006-01-02 15:04"), prose.Plural(len(heads), "session"), a.Key, p.whoseKey(a.Key)))
	return heads, nil
}

// whoseKey describes a public key if it is that of this home.
func (p checkCommands) whoseKey(public string) string {
	home, err := p.homeDir()
	if err != nil {
		return ""
	}
	if key, err := anchor.ReadKey(sealfs.Home(home), filepath.Join(home, anchorKeyName)); err == nil && anchor.PublicKey(key) == public {
		return " of this home"
	}
	return ", which is not that of this home"
}
