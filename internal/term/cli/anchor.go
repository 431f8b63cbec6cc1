package cli

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/disk/anchor"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
)

func (p checkCommands) anchorCommand() *cobra.Command {
	var showKey bool
	cmd := &cobra.Command{
		Use:     "anchor [FILE]",
		GroupID: "care",
		Short:   "Write a signed list of the hashes of all sessions",
		Long: `Write the hash of every session to FILE, or to the standard output, signed with
the key of the home. Keep it where nobody who can write to the home can change
it: on another machine, in a git repository, with a timestamping service. It
holds no text of the sessions, only their ids, lengths and hashes.

firn verify --since FILE then shows that every session of that time is still
there and starts with the same lines. A home that was replaced as a whole, with
its hash chains, does not pass.

The key is made at first use, in anchor.key in the home. --key prints the public
key: note it elsewhere, and give it to firn verify --key to be sure that an
anchor was signed by this home.`,
		Example: "  firn anchor ~/anchors/2026-11-17.txt\n  firn verify --since ~/anchors/2026-11-17.txt\n  firn anchor --key",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, st, err := p.resolveTarget(cmd, nil)
			if err != nil {
				return err
			}
			if err := st.mustBeFiles("take an anchor", anchorHint); err != nil {
				return err
			}
			key, err := anchor.HomeKey(vfs.OS{}, target.Root)
			if err != nil {
				return err
			}
			public, _ := key.Public().(ed25519.PublicKey) // it is one
			if showKey {
				return p.print(&publicKey{anchor.Fingerprint(public)}, func() string { return anchor.Fingerprint(public) + "\n" })
			}
			return p.takeAnchor(cmd, target, key, args)
		},
	}
	cmd.Flags().BoolVar(&showKey, "key", false, "print the public key and take no anchor")
	return cmd
}

// anchorHint is the hint where there are no hash chains in files.
const anchorHint = "this store compares each record with its own chain of hashes; run firn verify"

// publicKey is the result of firn anchor --key.
type publicKey struct {
	Key string `json:"key"`
}

// takenAnchor is the result of firn anchor FILE.
type takenAnchor struct {
	File     string `json:"file"`
	Sessions int    `json:"sessions"`
	Key      string `json:"key"`
}

// takeAnchor writes an anchor to the file in args, or to the standard output.
func (p checkCommands) takeAnchor(cmd *cobra.Command, target doctor.Target, key ed25519.PrivateKey, args []string) error {
	bar := p.newBar("hashing")
	states, left, err := doctor.TakeAnchor(cmd.Context(), target, bar.Set)
	bar.Clear()
	if err != nil {
		return err
	}
	for _, what := range left {
		p.note(prose.Clean(what) + "; it is not in the anchor")
	}
	text := anchor.Anchor{Time: p.now(), Sessions: states}.Sign(key)
	if len(args) == 0 || args[0] == "-" {
		_, err = p.stdout.Write(text)
	} else {
		_, err = writeAtomically(args[0], func(to io.Writer) (int, error) { return to.Write(text) })
	}
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] != "-" {
		public, _ := key.Public().(ed25519.PublicKey) // it is one
		done := &takenAnchor{args[0], len(states), anchor.Fingerprint(public)}
		err = p.print(done, func() string {
			return fmt.Sprintf("%s\n%s, signed by %s\n", prose.Clean(done.File), prose.Plural(done.Sessions, "session"), done.Key)
		})
	}
	if err == nil && len(left) > 0 {
		return errPartial
	}
	return err
}

// readAnchor reads an anchor for the home. Its key must be the given one, or else that of
// the home.
func (p checkCommands) readAnchor(file, key, home string) (a anchor.Anchor, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return a, err
	}
	if a, err = anchor.Parse(data); err != nil {
		return a, &hinted{fmt.Errorf("%s: %w", file, err), "take another copy of the anchor; firn anchor makes a new one"}
	}
	var expected ed25519.PublicKey
	if key != "" {
		if expected, err = anchor.ParseKey(key); err != nil {
			return a, err
		}
	} else if own, err := anchor.ReadKey(vfs.OS{}, home); err != nil {
		return a, err
	} else if own != nil {
		expected, _ = own.Public().(ed25519.PublicKey) // it is one
	}
	if expected == nil {
		return a, &hinted{fmt.Errorf("%s: %w: the home has no key to compare its signature with", file, firn.ErrInvalid), "if you trust the key of the anchor, add: --key " + anchor.Fingerprint(a.Key)}
	}
	if !expected.Equal(a.Key) {
		return a, &hinted{fmt.Errorf("%s: %w: it was signed by another key, %s", file, firn.ErrInvalid, anchor.Fingerprint(a.Key)), "if you trust that key, add: --key " + anchor.Fingerprint(a.Key)}
	}
	return a, nil
}
