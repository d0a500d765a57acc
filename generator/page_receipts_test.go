package generator_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
)

// withKey is the shipped content of a service that publishes the key of the hosts in tests.
func withKey(t *testing.T) edits {
	return edits{
		"service.yaml": replace(`current: ""`, fmt.Sprintf("current: %q", edgetest.PublicKey(edgetest.Key))),
	}
}

// The page has the keys of the service in its form, so that it needs no network; and every program
// has them.
func TestPublishedKeys(t *testing.T) {
	key, o := edgetest.PublicKey(edgetest.Key), generate(t, overlay(t, withKey(t)))
	for _, p := range append([]string{"/receipts.html", "/receipts.html.md"}, respond.Kit...) {
		if !strings.Contains(string(document(t, o, p)), key) {
			t.Errorf("%s lacks the key", p)
		}
	}
	base64Key := regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)
	for _, p := range respond.Kit {
		for _, found := range base64Key.FindAllString(string(document(t, o, p)), -1) {
			if _, err := base64.StdEncoding.DecodeString(found); err == nil && found != key {
				t.Errorf("%s holds %s", p, found)
			}
		}
	}
}
