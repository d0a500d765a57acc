package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/verification"
)

type workTree struct {
	folder      string
	environment []string
}

// findWorkTree returns the work tree that a folder belongs to, or nil without one.
func findWorkTree(ctx context.Context, folder string) (*workTree, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !underGit(folder) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	w := &workTree{folder, append(gitEnvironment(ctx), "GIT_OPTIONAL_LOCKS=0")} // status refreshes no index
	_, err = w.run(ctx, "rev-parse", "--show-toplevel")
	return w, err
}

// gitEnvironment returns the variables of this process except those that choose a repository, which
// hooks and aliases of git set (git(1), ENVIRONMENT).
func gitEnvironment(ctx context.Context) []string {
	list := exec.CommandContext(ctx, "git", "rev-parse", "--local-env-vars")
	list.Env = []string{"PATH=" + os.Getenv("PATH")} // a wrong value of one of them fails the call
	local, _ := list.Output()
	names := strings.Fields(string(local))
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name) && !strings.HasPrefix(name, "GIT_CONFIG")
	})
}

// committed returns the last commit that changes a file, if HEAD has the file.
func committed(ctx context.Context, file string) (c verification.Commit, err error) {
	tree, err := findWorkTree(ctx, filepath.Dir(file))
	if err != nil || tree == nil {
		c.Unknown = true
		return c, err
	}
	name := filepath.Base(file)
	if there, _ := tree.run(ctx, "ls-tree", "--name-only", "HEAD", "--", name); there == "" { // or there is no commit
		return c, ctx.Err()
	}
	if c.Hash, err = tree.run(ctx, "log", "-1", "--format=%h", "--", name); err == nil {
		newest, _ := tree.run(ctx, "log", "-1", "--format=%h")
		c.Newest = newest == c.Hash
	}
	return c, err
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

type gitError struct {
	Command string // "commit"
	Err     error  // of the process
	Words   string // git's output; may be ""
}

func (e *gitError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("git %s: %v\n%s", e.Command, e.Err, e.Words))
}

// run runs git in the folder and returns its standard output without white space around it. A
// failure of git is an *gitError.
func (w *workTree) run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", w.folder}, args...)...)
	command.Env = w.environment
	out, err := command.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		failed := &gitError{Command: args[0], Err: err}
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			failed.Words = strings.TrimSpace(string(out) + "\n" + string(exit.Stderr))
		}
		return "", failed
	}
	return strings.TrimSpace(string(out)), nil
}

// attribute returns the value of an attribute of a file (gitattributes(5)): "set", "unset",
// "unspecified" or what it is set to.
func (w *workTree) attribute(ctx context.Context, name, file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	out, err := w.run(ctx, "check-attr", name, "--", path)
	return out[strings.LastIndexByte(out, ' ')+1:], err
}

// relative returns a path as seen from a folder.
func relative(folder, path string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.Rel(folder, path)
}

// shellWords returns words as a POSIX shell reads them.
func shellWords(words []string) string {
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
