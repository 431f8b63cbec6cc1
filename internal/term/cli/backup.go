package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/backup"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
)

func (p storeCommands) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup",
		GroupID: "care",
		Short:   "Back up a home to one file, verify it, restore it",
		Long: `Back up a whole home to one file: sessions, keys, notes, settings, tokens,
receipts and the trash bin. Other processes may write meanwhile. Derived data
such as the index is left out. Sessions in a store other than the home's own
files are included as files, and a restored home keeps them in files.

The backup is a tar archive compressed with zstd, with the checksums of all
files at its end. Without firn, unpack it with tar --zstd -xf and check it with
sha256sum -c SHA256SUMS. It contains every message: protect it like the home, or
encrypt it with --to. A purge does not affect it.`,
		Example: "  firn backup create\n  firn backup verify firn-20261116-031500.tar.zst\n  firn backup restore firn-20261116-031500.tar.zst ~/.firn",
		Args:    cobra.ArbitraryArgs,
		RunE:    p.unknown,
	}
	cmd.AddCommand(p.backupCreateCommand(), p.backupVerifyCommand(), p.backupRestoreCommand())
	return cmd
}

func (p storeCommands) backupCreateCommand() *cobra.Command {
	var keys recipientFlags
	cmd := &cobra.Command{
		Use:   "create [FILE]",
		Short: "Create a backup of the home",
		Long: `Create a backup of the home. The default file name is firn-DATE-TIME.tar.zst
in the current directory; - writes to stdout. An existing file is never
overwritten.

--to encrypts the backup with age (https://age-encryption.org) to a public key
age1…; give it once for each recipient. Each recipient alone can read the
backup, with a secret key that firn does not need here. age-keygen creates a
pair. Keep the secret key outside the home: without it the backup is lost.`,
		Example: "  firn backup create\n  firn backup create - | ssh host 'cat > firn.tar.zst'\n  firn backup create --to age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
		Args:    args(0, 1, "at most one file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.createBackup(cmd, args, keys) },
	}
	cmd.Flags().StringArrayVar(&keys.to, "to", nil, "encrypt the backup to this `recipient`, a public key age1…; may be given several times")
	cmd.Flags().StringVar(&keys.file, "to-file", "", "encrypt the backup to the recipients in this `file`, one per line")
	return cmd
}

func (p storeCommands) createBackup(cmd *cobra.Command, args []string, keys recipientFlags) error {
	ctx := cmd.Context()
	recipients, err := keys.recipients(cmd)
	if err != nil {
		return err
	}
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	st, err := p.storeInUse(ctx)
	if err != nil {
		return err
	}
	if len(recipients) == 0 && sealfs.Encrypted(st.home) {
		return &hinted{failure.Of(firn.ErrInvalid, "the home is encrypted, and the backup would not be"), "give --to RECIPIENT; firn backup restore then creates a plain home, which firn encrypt encrypts"}
	}
	now := time.Now()
	name := "firn-" + now.Format("20060102-150405") + ".tar.zst"
	if len(recipients) > 0 {
		name += ".age"
	}
	if len(args) > 0 {
		name = args[0]
	}
	bar := p.newBar("packing")
	made := func(to io.Writer) (backup.Summary, error) {
		return encryptedTo(to, recipients, func(to io.Writer) (backup.Summary, error) { return st.pack(ctx, to, now, bar) })
	}
	var s backup.Summary
	if name == "-" {
		s, err = made(p.stdout)
	} else {
		s, err = writeAtomically(name, made)
	}
	bar.Clear()
	switch {
	case errors.Is(err, firn.ErrNotFound):
		return &hinted{err, "choose your home with --home or FIRN_HOME"}
	case err != nil:
		return err
	}
	for _, skipped := range s.Skipped {
		p.note(prose.Clean(skipped) + " is not a regular file and not in the backup")
	}
	for _, unread := range s.Unread {
		p.note(prose.Clean(unread) + "; it is not, or not wholly, in the backup")
	}
	if name != "-" {
		err = p.print(&packed{name, len(recipients), s}, func() string {
			return fmt.Sprintf("%s\n%s%s", prose.Clean(name), summary(s), encryptionNote(len(recipients)))
		})
	}
	if err == nil && len(s.Unread) > 0 {
		return errPartial
	}
	return err
}

// packed is the result of creating or verifying a backup.
type packed struct {
	File string `json:"file"`
	// Recipients is the number of keys that a new backup is encrypted to.
	Recipients int `json:"recipients,omitempty"`
	backup.Summary
}

func summary(s backup.Summary) string {
	return fmt.Sprintf("%s in %s, %s\nsha256 %s\n", prose.Plural(s.Sessions, "session"), prose.Plural(s.Files, "file"), prose.Size(s.Bytes), s.Sum)
}

// writeAtomically creates a file that is complete and synced to disk, or does not exist. It
// fails if the file exists.
func writeAtomically(name string, write func(io.Writer) (backup.Summary, error)) (s backup.Summary, err error) {
	fsys := vfs.OS{}
	aside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".tmp-"+string(firn.NewID()))
	if _, err := fsys.Stat(name); err == nil {
		return s, &hinted{fmt.Errorf("create %s: %w: file exists", name, firn.ErrConflict), "choose another file name"}
	}
	file, err := fsys.Open(aside, vfs.Create)
	if err != nil {
		return s, fmt.Errorf("create %s: %w", name, err)
	}
	s, err = write(file)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = fsys.Rename(aside, name)
	}
	if err != nil {
		return s, errors.Join(err, fsys.Remove(aside))
	}
	return s, fsys.SyncDir(filepath.Dir(name))
}

func (p storeCommands) backupVerifyCommand() *cobra.Command {
	var identity string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Read a backup and compare every file with its checksum",
		Long: `Read a whole backup and compare every file with its checksum; - reads stdin.
Exits with 8 if the backup is damaged. An encrypted backup needs --identity.`,
		Example: "  firn backup verify firn-20261116-031500.tar.zst\n  firn backup verify firn-20261116-031500.tar.zst.age --identity ~/key.txt",
		Args:    args(1, 1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s backup.Summary
			err := p.readBackup(cmd, args[0], identity, "reading", func(from io.Reader) (err error) {
				s, err = backup.Verify(cmd.Context(), from)
				return err
			})
			if err != nil {
				return err
			}
			return p.print(&packed{File: args[0], Summary: s}, func() string {
				return fmt.Sprintf("✓ no errors, created %s\n%s", s.Made.Local().Format("2006-01-02 15:04:05"), summary(s))
			})
		},
	}
	identityFlag(cmd, &identity)
	return cmd
}

func (p storeCommands) backupRestoreCommand() *cobra.Command {
	var identity string
	cmd := &cobra.Command{
		Use:   "restore FILE DIRECTORY",
		Short: "Restore a backup into a new home",
		Long: `Restore a backup into a directory that is empty or does not exist. The result
is either complete or absent. Every file is compared with its checksum, then
every session is checked as by firn verify. An encrypted backup needs
--identity.`,
		Example: "  firn backup restore firn-20261116-031500.tar.zst ~/.firn\n  firn backup restore firn-20261116-031500.tar.zst.age ~/.firn --identity ~/key.txt",
		Args:    args(2, 2, "a file and a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s backup.Summary
			err := p.readBackup(cmd, args[0], identity, "restoring", func(from io.Reader) (err error) {
				s, err = backup.Restore(cmd.Context(), from, vfs.OS{}, args[1])
				return err
			})
			if errors.Is(err, firn.ErrConflict) {
				err = &hinted{err, "choose an empty directory or a new one; existing files are never replaced"}
			}
			if err != nil {
				return err
			}
			target, err := p.restored(args[1])
			if err != nil {
				return err
			}
			bar := p.newBar("reading")
			report, err := doctor.Verify(cmd.Context(), target, doctor.Options{Progress: bar.Set})
			bar.Clear()
			if err != nil {
				return err
			}
			if !p.json {
				fmt.Fprintf(p.stderr, "restored %s: %s", prose.Clean(args[1]), summary(s))
			}
			return checkCommands(p).report(report)
		},
	}
	identityFlag(cmd, &identity)
	return cmd
}

// readBackup opens a backup, decrypts it with the keys of the identity file, if one is
// given, and shows the progress of do.
func (p storeCommands) readBackup(cmd *cobra.Command, name, identity, what string, do func(io.Reader) error) error {
	identities, err := readIdentities(cmd, identity)
	if err != nil {
		return err
	}
	if name == "-" {
		return decrypting(p.input(cmd.Context()), identities, do)
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &hinted{fmt.Errorf("open backup %s: %w", name, firn.ErrNotFound), "to create a backup: firn backup create"}
	}
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	bar := p.newBar(what)
	defer bar.Clear()
	err = decrypting(&counted{file, 0, info.Size(), bar.Set}, identities, do)
	if errors.Is(err, firn.ErrCorrupt) {
		err = &hinted{err, "use another copy of the backup; nothing was changed"}
	}
	return err
}

// counted is a reader that reports its progress.
type counted struct {
	from     io.Reader
	n, total int64
	report   func(done, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n += int64(n)
	c.report(c.n, c.total)
	return n, err
}
