//go:build unix

package main

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// installation is a release on a real HTTP server, and the result of installing it.
type installation struct {
	t *testing.T
	// dir has the files that the server sends, and prefix is where they are installed.
	dir, prefix, url, archive string
	// key is a private key of this test.
	key string
}

// newInstallation makes a release whose program is a shell script, signed with a new key.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	in := &installation{t: t, dir: t.TempDir(), prefix: filepath.Join(t.TempDir(), "a prefix"), key: filepath.Join(t.TempDir(), "key")}
	in.archive = "firn_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	var files []file
	for name, text := range map[string]string{
		"firn": "#!/bin/sh\necho firn v1.2.3\n", "man1/firn.1": ".TH", "man1/firn-chat.1": ".TH",
		"completions/firn.bash": "b", "completions/_firn": "z", "completions/firn.fish": "f",
	} {
		files = append(files, file{name: strings.TrimSuffix(in.archive, ".tar.gz") + "/" + name, data: []byte(text), mode: 0o755})
	}
	data, err := tarball(files, time.Unix(0, 0), gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	in.write(in.archive, data)
	in.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "firn", "-f", in.key)
	in.sign(in.archive)
	server := httptest.NewServer(http.FileServer(http.Dir(in.dir)))
	t.Cleanup(server.Close)
	in.url = server.URL
	return in
}

func (in *installation) write(name string, data []byte) {
	in.t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, name), data, 0o644); err != nil {
		in.t.Fatal(err)
	}
}

func (in *installation) read(name string) []byte {
	in.t.Helper()
	return []byte(read(in.t, in.dir, name))
}

// sign writes the checksums of the named files and signs them as tools/release.sh does.
func (in *installation) sign(names ...string) {
	in.t.Helper()
	r := release{out: in.dir}
	if err := r.sum(names); err != nil {
		in.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(in.dir, "SHA256SUMS.sig")) // ssh-keygen replaces no file
	in.command("ssh-keygen", "-q", "-Y", "sign", "-f", in.key, "-n", "firn-release", filepath.Join(in.dir, "SHA256SUMS"))
}

func (in *installation) command(name string, args ...string) string {
	in.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		in.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// run runs a script with variables and returns its output and whether it succeeded.
func (in *installation) run(script string, variables ...string) (string, bool) {
	cmd := exec.Command("sh", script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + in.t.TempDir(), "PREFIX=" + in.prefix, "FIRN_URL=" + in.url, "FIRN_KEY=" + in.key + ".pub"}, variables...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// installed lists the files below the prefix.
func (in *installation) installed() string {
	var names []string
	_ = filepath.WalkDir(in.prefix, func(path string, d os.DirEntry, err error) error { // there may be none
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, in.prefix+"/"))
		}
		return nil
	})
	return strings.Join(names, " ")
}

const installScript = "../../packaging/install.sh"

// TestInstallScript installs a release from a real server, twice, and uninstalls it with the
// line that was printed.
func TestInstallScript(t *testing.T) {
	in := newInstallation(t)
	const want = "bin/firn share/bash-completion/completions/firn share/firn/uninstall.sh share/fish/vendor_completions.d/firn.fish share/man/man1/firn-chat.1 share/man/man1/firn.1 share/zsh/site-functions/_firn"
	for range 2 {
		out, ok := in.run(installScript)
		if !ok || in.installed() != want || !strings.Contains(out, "firn v1.2.3\ninstalled in "+in.prefix+"/bin\n") {
			t.Fatalf("it printed\n%s\nand installed %s", out, in.installed())
		}
		_, uninstall, _ := strings.Cut(out, "uninstall: ")
		uninstall, _, _ = strings.Cut(uninstall, "   (")
		in.command("sh", "-c", uninstall)
		if left := in.installed(); left != "" {
			t.Fatalf("%s left %s", uninstall, left)
		}
	}
	public, err := os.ReadFile(in.key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	r := release{packaging: "../../packaging", url: in.url, key: strings.TrimSpace(string(public)), version: "v1.2.3"}
	script, err := r.script()
	if err != nil {
		t.Fatal(err)
	}
	in.write("install.sh", script)
	if out, ok := in.run(filepath.Join(in.dir, "install.sh"), "FIRN_URL=", "FIRN_KEY="); !ok || in.installed() != want {
		t.Errorf("the script of a release printed\n%s\nand installed %s", out, in.installed())
	}
}

// TestInstallScriptRefuses changes what the server sends, in every way that must be noticed.
// An installed version stays as it was.
func TestInstallScriptRefuses(t *testing.T) {
	in := newInstallation(t)
	if out, ok := in.run(installScript); !ok {
		t.Fatal(out)
	}
	program := filepath.Join(in.prefix, "bin", "firn")
	before, files := read(t, filepath.Dir(program), "firn"), in.installed()
	archive, sums, signature := in.read(in.archive), in.read("SHA256SUMS"), in.read("SHA256SUMS.sig")
	other := filepath.Join(t.TempDir(), "other")
	in.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)
	tampered := append(append([]byte(nil), archive...), 0)
	for _, c := range []struct {
		name      string
		change    func()
		variables []string
		want      string
	}{
		{"a cut archive", func() { in.write(in.archive, archive[:len(archive)/2]) }, nil, "the checksum of " + in.archive},
		{"a changed archive", func() { in.write(in.archive, tampered) }, nil, "the checksum of " + in.archive},
		{"a changed archive and its checksum", func() {
			in.write(in.archive, tampered)
			in.write("SHA256SUMS", fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(tampered), in.archive))
		}, nil, "not by the publisher's key"},
		{"cut checksums", func() { in.write("SHA256SUMS", sums[:len(sums)-1]) }, nil, "not by the publisher's key"},
		{"a cut signature", func() { in.write("SHA256SUMS.sig", signature[:len(signature)/2]) }, nil, "not by the publisher's key"},
		{"another key", func() {}, []string{"FIRN_KEY=" + other + ".pub"}, "not by the publisher's key"},
		{"no key", func() {}, []string{"FIRN_KEY="}, "the key of the publisher is not known"},
		{"no signature", func() { _ = os.Remove(filepath.Join(in.dir, "SHA256SUMS.sig")) }, nil, "could not download"},
		{"no archive", func() { _ = os.Remove(filepath.Join(in.dir, in.archive)) }, nil, "could not download"},
		{"another version", func() {}, []string{"FIRN_VERSION=v1.2.4"}, "not v1.2.4"},
		{"no address", func() {}, []string{"FIRN_URL="}, "set FIRN_URL"},
		{"a cut archive without a signature", func() { in.write(in.archive, archive[:len(archive)/2]) }, []string{"FIRN_UNSIGNED=1"}, "the checksum of " + in.archive},
		{"a program that does not run", func() {
			in.write(in.archive, brokenArchive(t, in.archive))
			in.sign(in.archive)
		}, nil, "does not run on this machine"},
	} {
		in.write(in.archive, archive)
		in.write("SHA256SUMS", sums)
		in.write("SHA256SUMS.sig", signature)
		c.change()
		out, ok := in.run(installScript, c.variables...)
		if ok || !strings.Contains(out, c.want) || !strings.Contains(out, "hint: ") {
			t.Errorf("%s: it printed\n%s", c.name, out)
		}
		if read(t, filepath.Dir(program), "firn") != before || in.installed() != files {
			t.Fatalf("%s: it changed what was installed: %s", c.name, in.installed())
		}
	}
}

// brokenArchive is an archive whose program fails.
func brokenArchive(t *testing.T, name string) []byte {
	t.Helper()
	data, err := tarball([]file{{name: strings.TrimSuffix(name, ".tar.gz") + "/firn", data: []byte("#!/bin/sh\nexit 1\n"), mode: 0o755}}, time.Unix(0, 0), gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
