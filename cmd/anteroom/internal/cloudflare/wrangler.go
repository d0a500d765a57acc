package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"

	"golang.org/x/mod/semver"
)

// WranglerVersion is the tested version, which build/npm/package.json pins too.
const WranglerVersion = "4.164.0"

type Wrangler struct {
	command []string // with its first arguments
	config  string   // path of wrangler.toml
}

const wranglerPatience = 10 * time.Second // to end after an interrupt

var versionNumber = regexp.MustCompile(`\b\d+\.\d+\.\d+\b`)

// FindWrangler finds a wrangler for the wrangler.toml at config: the one in PATH if its version is
// the pinned one or a later one of the same major, and otherwise the pinned one, run by npx.
func FindWrangler(ctx context.Context, config string) (*Wrangler, error) {
	w := &Wrangler{config: config}
	var tried []string
	for _, command := range [][]string{{"wrangler"}, {"npx", "--yes", "wrangler@" + WranglerVersion}} {
		w.command = command
		said, err := w.Run(ctx, "--version")
		if err == nil && (recent(said) || command[0] == "npx") {
			return w, nil
		}
		words := "version " + versionNumber.FindString(said)
		if err != nil {
			words = firstWords(err)
		}
		tried = append(tried, command[0]+": "+words)
	}
	return nil, fmt.Errorf("find wrangler %s: %s (install Node.js 22 or later, then run npm install "+
		"--global wrangler@%[1]s)", WranglerVersion, strings.Join(tried, "; "))
}

func firstWords(err error) string {
	said, words, _ := strings.Cut(err.Error(), "\n")
	for line := range strings.Lines(words) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "npm warn") {
			return line
		}
	}
	return said
}

func recent(said string) bool {
	have, want := "v"+versionNumber.FindString(said), "v"+WranglerVersion
	return semver.Major(have) == semver.Major(want) && semver.Compare(have, want) >= 0
}

// Run runs wrangler, and returns its output. An error contains the output too. Neither contains the
// API token or a secret key.
func (w *Wrangler) Run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, w.command[0], append(slices.Clone(w.command[1:]), args...)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = wranglerPatience
	// Its build command calls this program by its name.
	path := os.Getenv("PATH")
	if self, err := os.Executable(); err == nil && filepath.Base(self) == "anteroom" {
		path = filepath.Dir(self) + string(os.PathListSeparator) + path
	}
	command.Env = append(os.Environ(), "PATH="+path, "WRANGLER_SEND_METRICS=false", "WRANGLER_HIDE_BANNER=true",
		"NO_COLOR=1", "CI=1")
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	err := command.Run()
	if err == nil {
		return withoutSecrets(out.String()), nil
	}
	if ctx.Err() != nil {
		return "", errors.New("interrupted")
	}
	words := strings.TrimSpace(withoutSecrets(out.String() + complaint.String()))
	return "", fmt.Errorf("wrangler %s: %w\n%s", strings.Join(args, " "), err, words)
}

func withoutSecrets(text string) string {
	if token := strings.TrimSpace(os.Getenv(TokenVariable)); token != "" {
		text = strings.ReplaceAll(text, token, "…")
	}
	return cli.WithoutSecret(text)
}

func (w *Wrangler) in(ctx context.Context, environment string, args ...string) (string, error) {
	return w.Run(ctx, append(args, "--config", w.config, "--env", environment)...)
}

// deploy keeps the worker's other secrets.
func (w *Wrangler) deploy(ctx context.Context, environment, message string, secrets map[string]string) error {
	args := []string{"deploy", "--message", message}
	if len(secrets) > 0 {
		folder, err := os.MkdirTemp("", "anteroom-deploy-") // of mode 0700
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "secrets.json")
		text, err := json.Marshal(secrets)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			return err
		}
		args = append(args, "--secrets-file", file)
	}
	_, err := w.in(ctx, environment, args...)
	return err
}
