package content

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator"
)

// day is a day on which the content that is shipped can be generated.
var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func copyContent(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "content")
	if err := os.CopyFS(folder, os.DirFS("../../../../content")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRefuseSeed: a secret key is found in any document, and is not repeated.
func TestRefuseSeed(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	seed := base64.StdEncoding.EncodeToString(key.Seed())
	files := []generator.File{{Path: "/a", Bytes: []byte("a")}, {Path: "/b", Bytes: []byte("x" + seed + "y")}}
	if err := RefuseSeed(files, key); err == nil || !strings.HasPrefix(err.Error(), "/b holds the secret receipt key") || strings.Contains(err.Error(), seed) {
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
	} {
		expired, notice := Expiry(day, day.Add(-left))
		if got := fmt.Sprint(expired, " ", notice); !strings.HasPrefix(got, want) || left > 30*24*time.Hour && got != want {
			t.Errorf("%v before: %s", left, got)
		}
	}
}

// TestLoad: a folder that does not exist, an unfinished verification and a day in the future are
// refused.
func TestLoad(t *testing.T) {
	t.Parallel()
	folder := copyContent(t)
	if _, err := Load(folder, day); err != nil {
		t.Error(err)
	}
	faults := cli.ContentError{}
	if _, err := Load(folder, day.AddDate(0, 0, -5)); !errors.As(err, &faults) || !strings.HasPrefix(faults.Error(), folder+"/scoreboard/2026-11-20.yaml:") {
		t.Errorf("before its board: %v", err)
	}
	if _, err := Load(folder+"/nowhere", day); err == nil || !strings.Contains(err.Error(), "there is no content folder") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, Unfinished), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(folder, day); err == nil || !strings.Contains(err.Error(), "(run anteroom verify, which removes it)") {
		t.Error(err)
	}
}
