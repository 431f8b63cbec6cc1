package main

import (
	"testing"
)

func TestPackageVersions(t *testing.T) {
	for version, want := range map[string]versions{
		"v1.2.3":                                   {"1.2.3", "1.2.3", "1.2.3"},
		"v1.2.3+dirty":                             {"1.2.3+dirty", "1.2.3", "1.2.3"},
		"v1.2.3-rc.1":                              {"1.2.3~rc.1", "1.2.3_rc1", "1.2.3-rc.1"},
		"v1.2.3-4-gabcdef0":                        {"1.2.3+4.gabcdef0", "1.2.3_p4", "1.2.4-0.4.gabcdef0"},
		"v1.2.3-rc.1-4-gabcdef0":                   {"1.2.3~rc.1+4.gabcdef0", "1.2.3_rc1_p4", "1.2.3-rc.1.4.gabcdef0"},
		"v0.0.0-20261116064301-9fdbcd3336ab":       {"0.0.0~20261116064301.9fdbcd3336ab", "0.0.0_pre20261116064301", "0.0.0-20261116064301-9fdbcd3336ab"},
		"v0.0.0-20261116064301-9fdbcd3336ab+dirty": {"0.0.0~20261116064301.9fdbcd3336ab+dirty", "0.0.0_pre20261116064301", "0.0.0-20261116064301-9fdbcd3336ab"},
	} {
		if got, err := packageVersions(version); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", version, got, err, want)
		}
	}
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3-", "v1.2.3-new", "v1.2.3 ; rm", "v1.2.99999999999999999999-4-gabcdef0"} {
		if got, err := packageVersions(version); err == nil {
			t.Errorf("%q is %+v", version, got)
		}
	}
}
