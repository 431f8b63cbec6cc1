// Command pack makes a release from built programs: for each an archive with its files and
// the licenses of its dependencies, and a list of its modules (an SBOM); for all of them
// their checksums. The output is reproducible. tools/release.sh calls it.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	r := release{level: gzip.BestCompression}
	var date string
	flag.StringVar(&r.version, "version", "", "the `version` to release")
	flag.StringVar(&date, "time", "", "the modification `time` of all files in the archives (RFC 3339)")
	flag.StringVar(&r.programs, "programs", "", "the `directory` with one program per system: OS_ARCH/firn")
	flag.StringVar(&r.shared, "shared", "", "the `directory` with the files that every archive includes")
	flag.StringVar(&r.out, "out", "", "the `directory` to write the release to")
	flag.StringVar(&r.packaging, "packaging", "packaging", "the `directory` with the files for package managers")
	flag.StringVar(&r.url, "url", "", "the `address` that the files of this release will have")
	flag.StringVar(&r.key, "key", "", "the public `key` that verifies the checksums of this release")
	sums := flag.String("sums", "", "only write the checksums of all files in this `directory`")
	forms := flag.Bool("package-versions", false, "only print the version in the form of each package format")
	flag.Parse()
	var err error
	switch {
	case *sums != "":
		r.out = *sums
		err = r.sumAll()
	case *forms:
		err = printVersions(r.version)
	default:
		if err = r.read(date); err == nil {
			err = r.pack()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// release holds the parameters of a release.
type release struct {
	version               string
	time                  time.Time
	programs, shared, out string
	// packaging has the files for package managers. url is the future address of the
	// release, and key the public key of its signature, if there is one.
	packaging, url, key string
	licenses            map[string]terms
	// level is the level of compression; tests use a low one.
	level int
	// archives are the archives by system, such as linux_amd64.
	archives map[string]packed
}

// read validates the flags and determines the remaining parameters.
func (r *release) read(date string) (err error) {
	if r.version == "" || r.programs == "" || r.shared == "" || r.out == "" {
		return errors.New("-version, -time, -programs, -shared and -out are required")
	}
	r.url = strings.TrimSuffix(r.url, "/")
	if r.time, err = time.Parse(time.RFC3339, date); err != nil {
		return fmt.Errorf("parse -time: %w", err)
	}
	r.time = r.time.UTC()
	r.licenses, err = findLicenses()
	return err
}

// pack makes the release.
func (r *release) pack() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	systems, err := os.ReadDir(r.programs)
	if err != nil {
		return fmt.Errorf("find the programs: %w", err)
	}
	var made []string
	r.archives = make(map[string]packed)
	for _, s := range systems {
		names, err := r.packOne(s.Name())
		if err != nil {
			return fmt.Errorf("pack the program for %s: %w", s.Name(), err)
		}
		made = append(made, names...)
	}
	if len(made) == 0 {
		return fmt.Errorf("no programs in %s", r.programs)
	}
	names, err := r.channels()
	if err != nil {
		return fmt.Errorf("make the files for package managers: %w", err)
	}
	return r.sum(append(made, names...))
}

// packOne makes the files for the program of one system and returns their names.
func (r *release) packOne(system string) (made []string, err error) {
	program := filepath.Join(r.programs, system, "firn")
	windows := strings.HasPrefix(system, "windows_")
	if windows {
		program += ".exe"
	}
	name := "firn_" + strings.TrimPrefix(r.version, "v") + "_" + system
	files, err := collect(r.shared, name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the directory %s: %w", program, err)
	}
	notices, err := r.notices(info, name)
	if err != nil {
		return nil, err
	}
	binary := file{name: name + "/" + filepath.Base(program), data: data, mode: 0o755}
	files = append(append(files, notices...), binary)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	bom, err := r.bom(info, data)
	if err != nil {
		return nil, err
	}
	pack, ending := tarball, ".tar.gz"
	if windows {
		pack, ending = zipped, ".zip"
	}
	archive, err := pack(files, r.time, r.level)
	if err != nil {
		return nil, err
	}
	npm, npmData, err := r.npmProgram(system, binary, licenseFilesOf(files))
	if err != nil {
		return nil, err
	}
	r.archives[system] = packed{name + ending, fmt.Sprintf("%x", sha256.Sum256(archive))}
	return []string{name + ending, name + ".cdx.json", npm}, errors.Join(r.write(name+ending, archive), r.write(name+".cdx.json", bom), r.write(npm, npmData))
}

// write writes a file of the release.
func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// licenseFilesOf returns the files of an archive that must be distributed with the program.
func licenseFilesOf(files []file) []file {
	var found []file
	for _, f := range files {
		if _, below, _ := strings.Cut(f.name, "/"); below == "LICENSE" || strings.HasPrefix(below, "licences/") {
			found = append(found, f)
		}
	}
	return found
}

// collect reads the files below a directory, with names relative to below.
func collect(dir, below string) ([]file, error) {
	var files []file
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		files = append(files, file{name: below + "/" + path, data: data, mode: 0o644})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s is empty", dir)
	}
	return files, err
}

// sumAll writes the checksums of all files of a release.
func (r *release) sumAll() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && !strings.HasPrefix(name, "SHA256SUMS") {
			names = append(names, name)
		}
	}
	return r.sum(names)
}

// printVersions prints the version in the form of each package format.
func printVersions(version string) error {
	v, err := packageVersions(version)
	if err == nil {
		fmt.Printf("deb=%s\nrpm=%s\napk=%s\n", v.deb, v.deb, v.apk)
	}
	return err
}

// sum writes the checksums in the format of sha256sum.
func (r *release) sum(names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
