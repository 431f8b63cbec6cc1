package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// npmName is the name of the npm package that npx runs. The packages with the programs add
// the system to it.
const npmName = "firn-cli"

// npmSystem returns the operating system and processor of a release as Node.js names them.
func npmSystem(system string) (platform, arch string) {
	platform, arch, _ = strings.Cut(system, "_")
	if platform == "windows" {
		platform = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return platform, arch
}

// npmProgram packs an npm package with the program for one system, and the files that must
// be distributed with it. It returns its file name and contents.
func (r *release) npmProgram(system string, program file, notices []file) (string, []byte, error) {
	v, err := packageVersions(r.version)
	if err != nil {
		return "", nil, err
	}
	platform, arch := npmSystem(system)
	name := npmName + "-" + platform + "-" + arch
	about := indented(map[string]any{
		"name": name, "version": v.semantic, "description": "The program of " + npmName + " for " + platform + " on " + arch + ".",
		"license": "Apache-2.0", "homepage": "https://firn.dev", "os": []string{platform}, "cpu": []string{arch}, "preferUnplugged": true,
	})
	files := []file{{name: "package/package.json", data: about, mode: 0o644}, {name: "package/bin/" + filepath.Base(program.name), data: program.data, mode: 0o755}}
	for _, n := range notices {
		_, below, _ := strings.Cut(n.name, "/")
		files = append(files, file{name: "package/" + below, data: n.data, mode: n.mode})
	}
	data, err := tarball(files, r.time, r.level)
	return name + "-" + v.semantic + ".tgz", data, err
}

// npmWrapper packs the npm package that runs the program of the right system.
func (r *release) npmWrapper(version string) ([]byte, error) {
	files, err := collect(filepath.Join(r.packaging, "npx"), "package")
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		switch f.name {
		case "package/bin/firn.js":
			files[i].mode = 0o755
		case "package/package.json":
			var about map[string]any
			if err := json.Unmarshal(f.data, &about); err != nil {
				return nil, fmt.Errorf("read package.json: %w", err)
			}
			programs := make(map[string]string)
			for system := range r.archives {
				platform, arch := npmSystem(system)
				programs[npmName+"-"+platform+"-"+arch] = version
			}
			about["version"], about["optionalDependencies"] = version, programs
			files[i].data = indented(about)
		}
	}
	return tarball(files, r.time, r.level)
}
