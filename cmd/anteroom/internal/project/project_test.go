package project

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"anteroom/generator"
)

// day is a day on which the content that is shipped can be generated.
var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefuseSeed: a secret key is found in any document, and is not repeated.
func TestRefuseSeed(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	seed := base64.StdEncoding.EncodeToString(key.Seed())
	files := []generator.File{{Path: "/a", Bytes: []byte("a")}, {Path: "/b", Bytes: []byte("x" + seed + "y")}}
	if err := RefuseSeed(files, key); err == nil || !strings.HasPrefix(err.Error(), "/b contains the secret receipt key") || strings.Contains(err.Error(), seed) {
		t.Error(err)
	}
	if err := errors.Join(RefuseSeed(files, nil), RefuseSeed(files[:1], key)); err != nil {
		t.Error(err)
	}
}

// TestExpiry: a security.txt is not used from the moment on when it expires. Warnings come before.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]string{
		0: "true security.txt expired at 2026-11-21T00:00:00Z (", -time.Hour: "true security.txt expired", time.Second: "false security.txt expires at", 40 * 24 * time.Hour: "false ",
		366 * 24 * time.Hour: "false ", 367 * 24 * time.Hour: "false security.txt expires at 2026-11-21T00:00:00Z (",
	} {
		expired, notice := Expiry(day, day.Add(-left))
		if got := fmt.Sprint(expired, " ", notice); !strings.HasPrefix(got, want) || want == "false " && got != want {
			t.Errorf("%v before: %s", left, got)
		}
	}
}
