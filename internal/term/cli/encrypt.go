package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/backup"
	"firn.dev/internal/ops/encryption"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// encryptCommands are the commands about encrypted homes.
type encryptCommands struct{ *program }

// homeFiles returns the file system for files of the home.
func homeFiles(p *program) vfs.FS {
	home, err := p.homeDir()
	if err != nil {
		return vfs.OS{}
	}
	return sealfs.Home(home)
}

// keyFlags are the flags that name what opens a home.
type keyFlags struct {
	identity       string
	recipients     []string
	passphrase     bool
	passphraseFile string
	plan           bool
	acceptDamage   bool
	create         bool
}

func (p encryptCommands) encryptCommand() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "encrypt", GroupID: "care", Short: "Encrypt the files of the home",
		Long: `Encrypt all conversations, notes, file contents and tokens of the home in place.
Without the key they cannot be read, and changes are noticed. No gateway may
be running. --plan shows what would be done.

The key is opened by an identity file, a passphrase, or both. --identity FILE is
an age identity, as age-keygen writes it; if the file does not exist, it is
created. It must not be in the home. Commands and the gateway read it as long as
it is there: keep it on another disk, or use a passphrase, if thieves of this disk
are to be kept out. --recipient adds the public key of another identity, for
emergencies. Without the identity and the passphrase all sessions are lost:
keep a copy.

An interrupted encryption continues when it is run again. Every file is read
back before the plain one is removed. Its blocks are free then, but not
overwritten.

Not encrypted are firn.toml and store.json, names and sizes of files, files in
workspaces of agents, and copies of other tools' folders in sources/ (firn
adopt), whose originals are plain too. The search index of an encrypted home is
kept in memory.`,
		Example: "  firn encrypt --plan\n  firn encrypt --identity ~/keys/firn.txt\n  firn encrypt --passphrase",
		Args:    args(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.encrypt(cmd, f) },
	}
	newAccessFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.plan, "plan", false, "only show what would be done")
	cmd.AddCommand(p.accessCommand())
	return cmd
}

// newAccessFlags adds the flags that name what will open a home.
func newAccessFlags(cmd *cobra.Command, f *keyFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.identity, "identity", "", "open the home with the age identity in this `file`; it is created if missing")
	flags.StringArrayVar(&f.recipients, "recipient", nil, "also open it with the identity of this `public key` (age1…); can be repeated")
	flags.BoolVar(&f.passphrase, "passphrase", false, "open the home with a passphrase, which is asked for")
	flags.StringVar(&f.passphraseFile, "passphrase-file", "", "open the home with the passphrase in the first line of this `file`, such as /dev/fd/3")
}

func (p encryptCommands) decryptCommand() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "decrypt", GroupID: "care", Short: "Decrypt the files of an encrypted home",
		Long: `Decrypt the files of a home that firn encrypt encrypted, in place. They have the
same bytes afterwards as without encryption. No gateway may be running. If it is
interrupted, it continues when it is run again.

A damaged file is reported and stays encrypted. With --accept-damage, transcripts
are decrypted with zero bytes in place of the damage, which firn verify reports.
All damaged files are kept, encrypted, in the directory damaged of the home.`,
		Example: "  firn decrypt --plan\n  firn decrypt",
		Args:    args(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.decrypt(cmd, f) },
	}
	openFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.plan, "plan", false, "only show what would be done")
	cmd.Flags().BoolVar(&f.acceptDamage, "accept-damage", false, "also decrypt damaged transcripts, and set damaged files aside")
	return cmd
}

func (p encryptCommands) unlockCommand() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "unlock", GroupID: "care", Short: "Unlock an encrypted home until the end of the login session",
		Long: `Open the key of an encrypted home and keep it in the runtime directory of the
login session (XDG_RUNTIME_DIR), which is in memory. Until firn lock, or until
the session ends, all commands and the gateway of this user use it. Without it,
commands read the identity file or ask for the passphrase, and firn serve does
not start on a locked home.`,
		Example: "  firn unlock\n  firn unlock --passphrase-file /dev/fd/3 3< <(pass show firn)",
		Args:    args(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.unlock(cmd, f) },
	}
	openFlags(cmd, &f)
	return cmd
}

func (p encryptCommands) lockCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lock", GroupID: "care", Short: "Forget the key of an encrypted home",
		Long: `Remove the key that firn unlock kept, and the search index, from the runtime
directory. A running gateway keeps its key until it ends: firn stop.`,
		Example: "  firn lock",
		Args:    args(0, 0, "no arguments"),
		RunE:    func(*cobra.Command, []string) error { return p.lock() },
	}
}

// openFlags adds the flags that open a home.
func openFlags(cmd *cobra.Command, f *keyFlags) {
	cmd.Flags().StringVar(&f.identity, "identity", "", "open the home with the age identity in this `file`")
	cmd.Flags().StringVar(&f.passphraseFile, "passphrase-file", "", "read the passphrase from the first line of this `file`, such as /dev/fd/3")
}

// converted is the result of firn encrypt and firn decrypt.
type converted struct {
	*encryption.Plan
	Home  string           `json:"home"`
	State encryption.State `json:"state,omitempty"`
	// NewIdentity is the identity file if it was created.
	NewIdentity string `json:"newIdentity,omitempty"`
	Planned     bool   `json:"planned,omitempty"`

	undo string
	// again is set if the home was encrypted before.
	again bool
}

func (p encryptCommands) encrypt(cmd *cobra.Command, f keyFlags) (err error) {
	home, err := p.ownHome()
	if err != nil {
		return err
	}
	m, err := encryption.Read(home)
	if err != nil {
		return err
	}
	result := &converted{Home: home, State: encryption.Encrypted}
	if f.plan {
		result.Planned = true
		if result.Plan, err = encryption.NewPlan(cmd.Context(), home, false); err != nil {
			return err
		}
		return p.print(result, result.encryptText)
	}
	before := m
	var key sealfs.Key
	if m != nil {
		if m.State == encryption.Decrypting {
			return &hinted{failure.Of(firn.ErrConflict, "the home is being decrypted"), "run firn decrypt to finish, then firn encrypt"}
		}
		if m.State == encryption.Encrypted && (f.passphrase || f.passphraseFile != "" || len(f.recipients) > 0 || f.identity != "" && !isSameFile(f.identity, m.Identity)) {
			return &hinted{failure.Of(firn.ErrConflict, "the home is already encrypted"), "firn encrypt access changes what opens it"}
		}
		key, err = p.openKey(home, m, f)
	} else {
		m, key, err = p.newKey(home, f, result)
	}
	if err != nil {
		return err
	}
	result.again = before != nil && before.State == encryption.Encrypted
	release, err := p.holdHome(home, "encrypt", before)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	bar := p.newBar("encrypting")
	result.Plan, err = encryption.Encrypt(cmd.Context(), home, m, key, bar.Set)
	bar.Clear()
	if err != nil {
		return err
	}
	return p.print(result, result.encryptText)
}

// encryptText describes an encryption.
func (c *converted) encryptText() string {
	var b strings.Builder
	verb := "encrypted"
	if c.Planned {
		verb = "to encrypt:"
	}
	fmt.Fprintf(&b, "%s %s, %s, in %s\n", verb, prose.Plural(c.Files, "file"), prose.Size(c.Bytes), prose.Clean(c.Home))
	if c.Done > 0 {
		fmt.Fprintf(&b, "already encrypted or empty: %s\n", prose.Plural(c.Done, "file"))
	}
	fmt.Fprintf(&b, "not encrypted: settings and locks, file names and sizes")
	if c.Mirrors > 0 {
		fmt.Fprintf(&b, ", %s of other tools in sources/", prose.Plural(c.Mirrors, "copied file"))
	}
	if c.Workspace > 0 {
		fmt.Fprintf(&b, ", %s in workspaces of agents", prose.Plural(c.Workspace, "file"))
	}
	b.WriteString("\n")
	for _, link := range c.Links {
		fmt.Fprintf(&b, "not encrypted: the link %s\n", prose.Clean(link))
	}
	for _, name := range c.Other {
		fmt.Fprintf(&b, "not encrypted: %s, which is not a file of firn\n", prose.Clean(name))
	}
	b.WriteString("the search index is rebuilt in memory when it is needed\n")
	if c.Planned {
		return b.String()
	}
	if c.NewIdentity != "" {
		fmt.Fprintf(&b, "created the identity %s; keep a copy: without it all sessions are lost\n", prose.Clean(c.NewIdentity))
	}
	if c.again {
		b.WriteString("the home was encrypted before; firn decrypt decrypts it\n")
	} else {
		b.WriteString("undo: firn decrypt\n")
	}
	return b.String()
}

// newKey makes the key of a home and what opens it.
func (p encryptCommands) newKey(home string, f keyFlags, result *converted) (*encryption.Marker, sealfs.Key, error) {
	key, err := sealfs.NewKey()
	if err != nil {
		return nil, key, err
	}
	access, err := p.newAccess(home, f, &result.NewIdentity)
	if err != nil {
		return nil, key, err
	}
	m, err := encryption.NewMarker(key, access)
	return m, key, err
}

// newAccess returns what opens a home, by the flags. It sets created to the identity file if it
// creates it.
func (p encryptCommands) newAccess(home string, f keyFlags, created *string) (access encryption.Access, err error) {
	if f.identity == "" && !f.passphrase && f.passphraseFile == "" {
		return access, &usageError{message: "nothing would open the home again", hint: "give --identity FILE, which is created, or --passphrase"}
	}
	for _, r := range f.recipients {
		some, err := backup.ParseRecipients(r)
		if err != nil {
			return access, &hinted{err, "give the public key age1… that age-keygen -y prints for a key file"}
		}
		access.Recipients = append(access.Recipients, some...)
	}
	if f.passphrase || f.passphraseFile != "" {
		if access.Passphrase, err = p.newPassphrase(f); err != nil {
			return access, err
		}
	}
	if f.identity != "" {
		r, err := p.identityRecipients(home, &f.identity, created)
		if err != nil {
			return access, err
		}
		access.Identity, access.Recipients = f.identity, append(access.Recipients, r...)
	}
	return access, nil
}

// identityRecipients returns the public keys of an identity file, which is created if it does
// not exist. It makes the name of the file absolute.
func (p encryptCommands) identityRecipients(home string, file, created *string) (to []age.Recipient, err error) {
	if *file, err = filepath.Abs(*file); err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(home, *file); err == nil && filepath.IsLocal(rel) {
		return nil, &usageError{message: "the identity would be in the home that it opens", hint: "choose a file outside of " + prose.Clean(home)}
	}
	if _, err := os.Stat(*file); errors.Is(err, fs.ErrNotExist) {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return nil, err
		}
		text := "# opens the encrypted firn home " + prose.Clean(home) + "; keep it secret\n# public key: " + id.Recipient().String() + "\n" + id.String() + "\n"
		if err := (vfs.OS{}).MkdirAll(filepath.Dir(*file)); err != nil {
			return nil, err
		}
		*created = *file
		if err := newFile(*file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return nil, err
		}
		return []age.Recipient{id.Recipient()}, vfs.SyncNames(vfs.OS{}, filepath.Dir(*file))
	}
	identities, err := backup.ReadIdentities(*file)
	if err != nil {
		return nil, &hinted{err, "chmod 600 it, or give an age identity as age-keygen writes it"}
	}
	for _, i := range identities {
		if x, ok := i.(*age.X25519Identity); ok {
			to = append(to, x.Recipient())
		}
	}
	if len(to) == 0 {
		return nil, &hinted{failure.Of(firn.ErrUnsupported, "%s has no X25519 identity", prose.Clean(*file)), "age-keygen -o FILE creates one"}
	}
	return to, nil
}

func (p encryptCommands) decrypt(cmd *cobra.Command, f keyFlags) (err error) {
	home, err := p.ownHome()
	if err != nil {
		return err
	}
	m, err := p.encrypted(home)
	if err != nil {
		return err
	}
	result := &converted{Home: home, undo: "firn encrypt --passphrase"}
	if m.Identity != "" {
		result.undo = "firn encrypt --identity " + quote(m.Identity)
	}
	if f.plan {
		result.Planned = true
		if result.Plan, err = encryption.NewPlan(cmd.Context(), home, true); err != nil {
			return err
		}
		return p.print(result, result.decryptText)
	}
	key, err := p.openKey(home, m, f)
	if err != nil {
		return err
	}
	release, err := p.holdHome(home, "decrypt", m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	bar := p.newBar("decrypting")
	result.Plan, err = encryption.Decrypt(cmd.Context(), home, m, key, f.acceptDamage, bar.Set)
	bar.Clear()
	if errors.Is(err, firn.ErrCorrupt) && !f.acceptDamage {
		return &hinted{err, "restore it from a backup, or run firn decrypt --accept-damage"}
	}
	if err != nil {
		return err
	}
	sealfs.Forget(home)
	if _, err := encryption.Drop(p.env, home); err != nil {
		return err
	}
	return p.print(result, result.decryptText)
}

// decryptText describes a decryption.
func (c *converted) decryptText() string {
	verb, undo := "decrypted", "undo: "+c.undo+"\n"
	if c.Planned {
		verb, undo = "to decrypt:", ""
	}
	damaged := ""
	for _, path := range c.Damaged {
		damaged += "damaged: " + prose.Clean(path) + "\n"
	}
	if damaged != "" {
		damaged += "damaged parts of transcripts are zero bytes now, and other damaged files are gone; the encrypted files are in " + prose.Clean(filepath.Join(c.Home, encryption.DamagedDir)) + "\n"
	}
	return fmt.Sprintf("%s %s, %s, in %s\n%s%s", verb, prose.Plural(c.Files, "file"), prose.Size(c.Bytes), prose.Clean(c.Home), damaged, undo)
}

// unlocked is the result of firn unlock and firn lock.
type unlocked struct {
	Home     string `json:"home"`
	Unlocked bool   `json:"unlocked"`
	// Changed is false if it was so before.
	Changed bool `json:"changed"`
}

func (p encryptCommands) unlock(_ *cobra.Command, f keyFlags) error {
	home, err := p.ownHome()
	if err != nil {
		return err
	}
	m, err := p.encrypted(home)
	if err != nil {
		return err
	}
	_, before := m.Kept(p.env, home)
	key, err := p.openKey(home, m, f)
	if err == nil {
		err = encryption.Keep(p.env, home, key)
	}
	if err != nil {
		return err
	}
	return p.print(&unlocked{home, true, !before}, func() string {
		return "unlocked " + prose.Clean(home) + " until the login session ends\nundo: firn lock\n"
	})
}

func (p encryptCommands) lock() error {
	home, err := p.ownHome()
	if err != nil {
		return err
	}
	m, err := p.encrypted(home)
	if err != nil {
		return err
	}
	had, err := encryption.Drop(p.env, home)
	if err != nil {
		return err
	}
	return p.print(&unlocked{home, false, had}, func() string {
		return lockedText(home, m, had)
	})
}

// lockedText describes a locked home. If its identity file is there, every command still opens
// it.
func lockedText(home string, m *encryption.Marker, had bool) string {
	opens := false
	if m.Identity != "" {
		_, err := backup.ReadIdentities(m.Identity)
		opens = err == nil
	}
	switch {
	case opens:
		return prose.Clean(home) + " is still opened by its identity " + prose.Clean(m.Identity) + ": move that file away to lock it\n"
	case !had:
		return prose.Clean(home) + " was locked before\n"
	}
	text := "locked " + prose.Clean(home) + "; a running gateway keeps its key until firn stop\n"
	if len(m.ByPassphrase) > 0 {
		return text + "undo: firn unlock\n"
	}
	return text + "to unlock it: firn unlock --identity FILE\n"
}

// isSameFile reports whether a path is that of a file.
func isSameFile(path, file string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && abs == file
}

// ownHome returns the absolute path of the home, which must be ours, in files, and exist.
func (p encryptCommands) ownHome() (string, error) {
	if err := p.mustBeOurs(); err != nil {
		return "", err
	}
	settings, err := p.settings()
	if err != nil {
		return "", err
	}
	home, err := filepath.Abs(settings.Home)
	if err != nil {
		return "", err
	}
	if dir, files := settings.Store.Files(settings.Home); !files || filepath.Clean(dir) != filepath.Clean(settings.Home) {
		return "", &hinted{failure.Of(firn.ErrUnsupported, "the sessions are in another store (%s), which is not encrypted with the home", settings.Store.URL), "firn migrate file: moves them into the home"}
	}
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return "", &hinted{failure.Of(firn.ErrNotFound, "there is no home at %s", prose.Clean(home)), "choose your home with --home or FIRN_HOME"}
	}
	return home, nil
}

// encrypted returns the marker of an encrypted home.
func (p encryptCommands) encrypted(home string) (*encryption.Marker, error) {
	m, err := encryption.Read(home)
	if err == nil && m == nil {
		err = &hinted{encryption.ErrNotEncrypted, "firn encrypt --plan shows what encrypting it would do"}
	}
	return m, err
}

// holdHome locks the home for a conversion. It fails if the marker of the home is no longer
// the one that was read before.
func (p encryptCommands) holdHome(home, what string, before *encryption.Marker) (func() error, error) {
	if p.hold == nil {
		return nil, failure.Of(firn.ErrUnsupported, "this program cannot lock a home")
	}
	release, err := p.hold(home, what)
	if err != nil {
		return nil, err
	}
	now, err := encryption.Read(home)
	if err == nil && !now.Same(before) {
		err = failure.Of(firn.ErrConflict, "another command has converted the home meanwhile")
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// openKey opens the key of a home by the flags, or in the usual ways.
func (p encryptCommands) openKey(home string, m *encryption.Marker, f keyFlags) (sealfs.Key, error) {
	switch {
	case f.passphraseFile != "":
		text, err := readPassphrase(f.passphraseFile)
		if err != nil {
			return sealfs.Key{}, err
		}
		return wrongKey(m.WithPassphrase(text))
	case f.identity != "":
		identities, err := backup.ReadIdentities(f.identity)
		if err != nil {
			return sealfs.Key{}, &hinted{err, "chmod 600 it, or give an age identity as age-keygen writes it"}
		}
		return wrongKey(m.WithIdentities(identities))
	}
	return p.findKey(home, m)
}

func wrongKey(key sealfs.Key, err error) (sealfs.Key, error) {
	if errors.Is(err, encryption.ErrWrong) {
		err = failure.WithHint(failure.Of(firn.ErrInvalid, "wrong passphrase or identity; the home stays locked"), "run firn unlock")
	}
	return key, err
}

// findKey opens the key of a home with the key kept by firn unlock, the identity file, or a
// passphrase entered at the terminal.
func (p encryptCommands) findKey(home string, m *encryption.Marker) (sealfs.Key, error) {
	if key, ok := m.Kept(p.env, home); ok {
		return key, nil
	}
	locked := &encryption.Locked{Home: prose.Clean(home), Why: "no key is kept for it", Hint: "run firn unlock, which asks for the passphrase"}
	if m.Identity != "" {
		identities, err := backup.ReadIdentities(m.Identity)
		if err == nil {
			return wrongKey(m.WithIdentities(identities))
		}
		locked.Why = "its identity cannot be read: " + prose.OneLine(err.Error(), 200)
		if errors.Is(err, fs.ErrNotExist) {
			locked.Why = "its identity " + prose.Clean(m.Identity) + " is not there"
		}
	}
	if len(m.ByPassphrase) == 0 {
		locked.Hint = "run firn unlock --identity FILE"
	}
	in, ok := fileOf(p.stdin)
	if len(m.ByPassphrase) == 0 || !ok || !line.IsTerminal(in) {
		return sealfs.Key{}, locked
	}
	text, err := p.askPassphrase(in, "Passphrase of "+prose.Clean(home)+": ")
	if err != nil {
		return sealfs.Key{}, err
	}
	return wrongKey(m.WithPassphrase(text))
}

// unlocker returns the function that opens homes for this run.
func unlocker(p *program) sealfs.Unlocker {
	return func(home string) (sealfs.Key, sealfs.Mode, error) {
		m, err := encryption.Read(home)
		if err != nil || m == nil {
			return sealfs.Key{}, 0, errors.Join(err, missingMarker(m))
		}
		key, err := encryptCommands{p}.findKey(home, m)
		return key, m.Mode(), err
	}
}

func missingMarker(m *encryption.Marker) error {
	if m == nil {
		return encryption.ErrNotEncrypted
	}
	return nil
}
