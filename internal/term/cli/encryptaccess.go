package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/encryption"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

func (p encryptCommands) accessCommand() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "access", Short: "Change what opens an encrypted home",
		Long: `Replace the identity and the passphrase that open an encrypted home. The home is
opened in the usual way first: by the identity file that it has, by firn unlock,
or by the passphrase, which is asked for. An identity, recipient or passphrase that
is not given again no longer opens it.

The files are not encrypted again, so this takes no time. Anyone who opened the home
before may have kept its key, and old copies of sealed.json still open as before: if
an identity was stolen, run firn decrypt and firn encrypt.`,
		Example: "  firn encrypt access --passphrase\n  firn encrypt access --identity /media/usb/firn.txt --create",
		Args:    args(0, 0, "no arguments"),
		RunE:    func(*cobra.Command, []string) error { return p.changeAccess(f) },
	}
	newAccessFlags(cmd, &f)
	cmd.Flags().Lookup("identity").Usage = "open the home with the age identity in this `file`"
	cmd.Flags().BoolVar(&f.create, "create", false, "create the identity file")
	return cmd
}

// changedAccess is the result of firn encrypt access.
type changedAccess struct {
	Home       string `json:"home"`
	Identity   string `json:"identity,omitempty"`
	Passphrase bool   `json:"passphrase"`
	// Recipients is the number of other public keys.
	Recipients int `json:"recipients"`
	// NewIdentity is the identity file if it was created.
	NewIdentity string `json:"newIdentity,omitempty"`
	// Undo is the command that restores the previous access.
	Undo string `json:"undo"`
	// others is set if other public keys opened the home before.
	others bool
}

func (p encryptCommands) changeAccess(f keyFlags) (err error) {
	home, err := p.ownHome()
	if err != nil {
		return err
	}
	m, err := p.encrypted(home)
	if err != nil {
		return err
	}
	key, err := p.findKey(home, m)
	if err != nil {
		return err
	}
	release, err := p.holdHome(home, "encrypt", m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if m, err = p.encrypted(home); err != nil { // another command may have changed it
		return err
	}
	if err := checkIdentity(f); err != nil {
		return err
	}
	result := &changedAccess{Home: home, Undo: p.again(previousAccess(m)), others: m.Recipients() > 1 || m.Identity == "" && m.Recipients() > 0}
	access, err := p.newAccess(home, f, &result.NewIdentity)
	if err != nil {
		return err
	}
	result.Identity, result.Passphrase, result.Recipients = access.Identity, access.Passphrase != "", len(f.recipients)
	if err := m.ChangeAccess(home, key, access); err != nil {
		return err
	}
	return p.print(result, result.text)
}

// checkIdentity returns an error if the identity file is missing and not to be created, or the
// reverse. The undo of a change must not create a key where the previous one is missing.
func checkIdentity(f keyFlags) error {
	if f.identity == "" {
		if f.create {
			return &usageError{message: "--create needs --identity", hint: "give --identity FILE --create"}
		}
		return nil
	}
	_, err := os.Stat(f.identity)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && !f.create:
		return &hinted{failure.Of(firn.ErrNotFound, "there is no identity at %s", prose.Clean(f.identity)), "put it back, or create a new one with --create"}
	case !missing && f.create:
		return &hinted{failure.Of(firn.ErrConflict, "%s exists", prose.Clean(f.identity)), "use it without --create, or choose another file"}
	}
	return nil
}

// previousAccess returns the command that restores the access of a marker.
func previousAccess(m *encryption.Marker) string {
	undo := "firn encrypt access"
	if m.Identity != "" {
		undo += " --identity " + quote(m.Identity)
	}
	if len(m.ByPassphrase) > 0 {
		undo += " --passphrase"
	}
	return undo
}

// text describes the new access.
func (c *changedAccess) text() string {
	var by []string
	if c.Identity != "" {
		by = append(by, "the identity "+prose.Clean(c.Identity))
	}
	if c.Passphrase {
		by = append(by, "the new passphrase")
	}
	if c.Recipients > 0 {
		by = append(by, prose.Count(c.Recipients, "identity of another public key", "identities of other public keys"))
	}
	text := prose.Clean(c.Home) + " is now opened by " + strings.Join(by, ", or ") + "\n"
	if c.NewIdentity != "" && len(by) == 1 {
		text += "created the identity; keep a copy: without it all sessions are lost\n"
	} else if c.NewIdentity != "" {
		text += "created the identity; keep a copy\n"
	}
	if c.others {
		text += "other public keys opened it before: give them again with --recipient\n"
	}
	return text + "undo: " + c.Undo + "\n"
}

// minPassphrase is the length of the shortest passphrase for a new key.
const minPassphrase = 8

// newPassphrase reads a new passphrase, twice at a terminal.
func (p encryptCommands) newPassphrase(f keyFlags) (string, error) {
	if f.passphraseFile != "" {
		text, err := readPassphrase(f.passphraseFile)
		return text, errors.Join(err, checkPassphrase(text, err))
	}
	in, ok := fileOf(p.stdin)
	if !ok || !line.IsTerminal(in) {
		return "", &usageError{message: "--passphrase asks at a terminal, and there is none", hint: "use --passphrase-file FILE"}
	}
	text, err := p.askPassphrase(in, "New passphrase: ")
	if err := errors.Join(err, checkPassphrase(text, err)); err != nil {
		return "", err
	}
	again, err := p.askPassphrase(in, "Repeat it: ")
	if err == nil && again != text {
		err = &usageError{message: "the passphrases differ", hint: "run it again"}
	}
	return text, err
}

func checkPassphrase(text string, err error) error {
	if err == nil && len(text) < minPassphrase {
		return &usageError{message: fmt.Sprintf("the passphrase has fewer than %d characters", minPassphrase), hint: "choose several words"}
	}
	return nil
}

// askPassphrase reads a line from the terminal without showing it.
func (p encryptCommands) askPassphrase(in *os.File, prompt string) (string, error) {
	fmt.Fprint(p.stderr, prompt)
	text, err := line.ReadSecret(in)
	fmt.Fprintln(p.stderr)
	if errors.Is(err, io.EOF) {
		err = context.Canceled
	}
	return text, err
}

// readPassphrase reads the first line of a file.
func readPassphrase(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", &hinted{err, "give a file with the passphrase in its first line"}
	}
	defer f.Close() // read-only
	text, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	return strings.TrimRight(text, "\r\n"), nil
}
