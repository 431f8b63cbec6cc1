package cli

import (
	"errors"
	"io"
	"io/fs"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/backup"
	"firn.dev/internal/render/prose"
)

// recipientFlags are the flags that encrypt a backup.
type recipientFlags struct {
	to   []string
	file string
}

// recipients returns the recipients of both flags, and none only if neither was given: a
// script with an empty variable must not create a plain backup.
func (f recipientFlags) recipients(cmd *cobra.Command) (all []age.Recipient, err error) {
	if err := notEmpty(cmd, "to-file", f.file); err != nil {
		return nil, err
	}
	for _, one := range f.to {
		some, err := backup.ParseRecipients(one)
		if err != nil {
			return nil, &hinted{err, "give the public key age1… that age-keygen -y prints for a key file"}
		}
		all = append(all, some...)
	}
	if f.file != "" {
		some, err := backup.ReadRecipients(f.file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &hinted{failure.Of(firn.ErrNotFound, "read recipients: no such file: %s", f.file), "check the name, or give a public key with --to"}
		}
		if err != nil {
			return nil, &hinted{err, "the file has public keys age1…, one per line"}
		}
		all = append(all, some...)
	}
	if len(all) == 0 && (cmd.Flags().Changed("to") || cmd.Flags().Changed("to-file")) {
		return nil, &usageError{message: "there are no recipients to encrypt the backup to", hint: "give a public key age1… with --to"}
	}
	return all, nil
}

// notEmpty returns an error if a flag for a file was given with an empty name.
func notEmpty(cmd *cobra.Command, flag, file string) error {
	if file != "" || !cmd.Flags().Changed(flag) {
		return nil
	}
	return &usageError{message: "--" + flag + " is empty", hint: "give the name of a file, or leave out --" + flag + " if the backup is not encrypted"}
}

// encryptedTo writes a backup with write, encrypted if there are recipients.
func encryptedTo(to io.Writer, recipients []age.Recipient, write func(io.Writer) (backup.Summary, error)) (backup.Summary, error) {
	if len(recipients) == 0 {
		return write(to)
	}
	sealed, err := backup.Encrypt(to, recipients)
	if err != nil {
		return backup.Summary{}, err
	}
	s, err := write(sealed)
	if err != nil {
		return s, err // without its end it cannot be decrypted
	}
	return s, sealed.Close()
}

// encryptionNote returns a line about the encryption of a new backup.
func encryptionNote(recipients int) string {
	if recipients == 0 {
		return ""
	}
	return "encrypted to " + prose.Plural(recipients, "recipient") + "\n"
}

// identityFlag adds the flag for the keys of an encrypted backup.
func identityFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "identity", "", "decrypt the backup with the age secret key in this `file`")
}

// readIdentities returns the keys of an identity file, or none if the flag was not given. An
// empty name is an error: a plain backup must not be accepted in place of an encrypted one.
func readIdentities(cmd *cobra.Command, file string) ([]age.Identity, error) {
	if err := notEmpty(cmd, "identity", file); err != nil || file == "" {
		return nil, err
	}
	identities, err := backup.ReadIdentities(file)
	switch {
	case errors.Is(err, backup.ErrOpenIdentity):
		return nil, &hinted{err, "chmod 600 " + prose.Clean(file)}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &hinted{failure.Of(firn.ErrNotFound, "read identity: no such file: %s", file), "name the key file that age-keygen wrote"}
	case errors.Is(err, firn.ErrUnsupported):
		return nil, &hinted{err, "age -d decrypts it; keep the result only as long as you need it"}
	case err != nil:
		return nil, &hinted{err, "name the key file that age-keygen wrote"}
	}
	return identities, nil
}

// decrypting calls do with the content of a backup.
func decrypting(from io.Reader, identities []age.Identity, do func(io.Reader) error) error {
	plain, err := backup.Decrypt(from, identities)
	switch {
	case errors.Is(err, backup.ErrEncrypted):
		return &hinted{err, "name the file with a secret key of a recipient: --identity FILE"}
	case errors.Is(err, backup.ErrArmored):
		return &hinted{err, "decrypt it first: age -d -i KEYFILE -o firn.tar.zst FILE"}
	case errors.Is(err, backup.ErrNotEncrypted):
		return &hinted{err, "leave out --identity if you trust this file"}
	case errors.Is(err, backup.ErrWrongIdentity):
		return &hinted{err, "use the key file of a recipient that was named with --to"}
	case err != nil:
		return err
	}
	return do(plain)
}
