package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workTree is the work tree of git that a folder belongs to. Commands only read it.
type workTree struct{ folder string }

var isRoot = os.Geteuid() == 0 // tests replace it

// errAsRoot keeps root from git, which would read the configuration of another user's repository.
var errAsRoot = errors.New("as root no command starts git")

// findWorkTree returns the work tree that a folder belongs to, or nil without one.
//
// Accepts: in a git hook, the hook's variables choose the repository. Monitors and filters in the
// operator's configuration run, as in every git status.
func findWorkTree(ctx context.Context, folder string) (*workTree, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !underGit(folder):
		return nil, nil
	case err != nil:
		return nil, err
	case isRoot:
		return nil, errAsRoot
	}
	w := &workTree{folder}
	_, err = w.run(ctx, "rev-parse", "--show-toplevel")
	return w, err
}

func committed(ctx context.Context, file string) (hash string, known bool, err error) {
	tree, err := findWorkTree(ctx, filepath.Dir(file))
	if tree == nil || err != nil {
		return "", false, err
	}
	hash, err = tree.run(ctx, "rev-list", "-1", "--abbrev-commit", "--all", "--", filepath.Base(file))
	return hash, err == nil, err
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

func (w *workTree) run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", w.folder}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0") // git status would refresh the index
	out, err := command.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	} else if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (w *workTree) changed(ctx context.Context, places ...string) (files []string, err error) {
	list, err := w.run(ctx, append([]string{
		"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
		"--ignore-submodules=all", "--",
	}, places...)...)
	for _, entry := range lines(list) {
		if _, name, found := strings.Cut(strings.TrimSpace(entry), " "); found { // after two letters for its state
			files = append(files, strings.TrimSpace(name))
		}
	}
	return files, err
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == 0 })
}

func shellWords(words ...string) string {
	text := make([]string, len(words))
	for i, word := range words {
		if text[i] = word; strings.Trim(word, plain) != "" || word == "" {
			text[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(text, " ")
}

// plain are characters without a meaning in a shell.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./"
