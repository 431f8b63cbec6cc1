package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// versions are the forms of one version in package formats. In each of them a pre-release
// sorts before its release, and commits after a tag sort after it.
type versions struct {
	// deb is also the form of rpm packages.
	deb, apk string
	// semantic is the form for npm and Helm.
	semantic string
}

var (
	versionForm = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(\+dirty)?$`)
	// pseudoForm is the rest of Go's pseudo-version: the time and the commit.
	pseudoForm = regexp.MustCompile(`^(\d{14})-([0-9a-f]{12})$`)
	// afterForm is the rest of a version from git describe: the tag's pre-release, the
	// number of commits after the tag, and the commit.
	afterForm = regexp.MustCompile(`^(?:(.+)-)?(\d+)-g([0-9a-f]{7,})$`)
	// apkForm is a pre-release that apk can order.
	apkForm = regexp.MustCompile(`^(alpha|beta|pre|rc)[.-]?(\d*)$`)
)

// packageVersions returns the forms of a version of tools/stamp.sh.
func packageVersions(version string) (versions, error) {
	m := versionForm.FindStringSubmatch(version)
	if m == nil {
		return versions{}, fmt.Errorf("%q is not a version such as v1.2.3 or v1.2.3-rc.1", version)
	}
	base, pre, dirty := m[1]+"."+m[2]+"."+m[3], m[4], m[5]
	if p := pseudoForm.FindStringSubmatch(pre); p != nil {
		return versions{deb: base + "~" + p[1] + "." + p[2] + dirty, apk: base + "_pre" + p[1], semantic: base + "-" + pre}, nil
	}
	v := versions{deb: base, apk: base, semantic: base}
	after := afterForm.FindStringSubmatch(pre)
	if after != nil {
		pre = after[1]
	}
	if pre != "" {
		p := apkForm.FindStringSubmatch(pre)
		if p == nil {
			return versions{}, fmt.Errorf("the pre-release %q is not alpha, beta, pre or rc with a number", pre)
		}
		v = versions{deb: base + "~" + strings.ReplaceAll(pre, "-", "."), apk: base + "_" + p[1] + p[2], semantic: base + "-" + pre}
	}
	if after != nil {
		v.deb += "+" + after[2] + ".g" + after[3]
		v.apk += "_p" + after[2]
		if pre != "" {
			v.semantic += "." + after[2] + ".g" + after[3]
		} else { // a pre-release of the next version, as in Go
			patch, err := strconv.Atoi(m[3])
			if err != nil {
				return versions{}, fmt.Errorf("parse %q: %w", version, err)
			}
			v.semantic = fmt.Sprintf("%s.%s.%d-0.%s.g%s", m[1], m[2], patch+1, after[2], after[3])
		}
	}
	v.deb += dirty
	return v, nil
}
