// Package git runs git on the work tree that a folder belongs to.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// WorkTree is a work tree of git.
type WorkTree struct {
	folder      string
	environment []string
}

// Find returns the work tree that a folder belongs to, or nil if no .git is in the folder or above
// it. If there is one, each failure of git is an error in git's own words.
func Find(ctx context.Context, folder string) (*WorkTree, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil || !underGit(folder) {
		return nil, err
	}
	w := &WorkTree{folder, Environment(ctx)}
	_, err = w.Run(ctx, "rev-parse", "--show-toplevel")
	return w, err
}

// Environment returns the variables of this process without those that choose a repository, which
// hooks and aliases of git set (git(1), ENVIRONMENT). Without git it returns all of them.
func Environment(ctx context.Context) []string {
	ask := exec.CommandContext(ctx, "git", "rev-parse", "--local-env-vars")
	ask.Env = []string{"PATH=" + os.Getenv("PATH")} // some of them would fail this call
	local, _ := ask.Output()
	names := strings.Fields(string(local))
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
}

func underGit(folder string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return false
		}
		folder = parent
	}
}

// Run runs git in the folder and returns its standard output without the last line end. Its error
// has git's own words.
func (w *WorkTree) Run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", w.folder}, args...)...)
	command.Env = w.environment
	out, err := command.Output()
	failed := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &failed):
		words := strings.TrimSpace(string(out) + "\n" + string(failed.Stderr))
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, words)
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ChangesLineEnds returns the files of a list whose line ends git may change, as no attribute
// forbids it (gitattributes(5), text).
func (w *WorkTree) ChangesLineEnds(ctx context.Context, files ...string) (changed []string, err error) {
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		out, err := w.Run(ctx, "check-attr", "text", "--", path)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(out, ": text: unset") {
			changed = append(changed, file)
		}
	}
	return changed, nil
}
