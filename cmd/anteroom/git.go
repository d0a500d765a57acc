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
	"strconv"
	"strings"
)

// workTree is the work tree of git that a folder belongs to. Commands only read it.
type workTree struct {
	folder      string
	environment []string
}

var isRoot = os.Geteuid() == 0 // tests replace it

// errAsRoot keeps root from git, which would read the configuration of another user's repository.
var errAsRoot = errors.New("as root no command starts git")

// findWorkTree returns the work tree that a folder belongs to, or nil without one. Git starts no
// program there that its configuration names: no monitor of files, no filter, no fetch.
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
	w := &workTree{folder, append(withoutRepository(os.Environ()), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1")}
	filters, _ := w.run(ctx, "config", "--null", "--name-only", "--get-regexp", `^filter\.`) // fails without any
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for _, name := range append(lines(filters), "core.fsmonitor") {
		w.environment = append(w.environment, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, name),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=", n))
		n++
	}
	w.environment = append(w.environment, fmt.Sprint("GIT_CONFIG_COUNT=", n))
	_, err = w.run(ctx, "rev-parse", "--show-toplevel")
	return w, err
}

// repositoryVariables choose a repository; hooks and aliases of git set them (git rev-parse
// --local-env-vars).
const repositoryVariables = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE " +
	"GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_PREFIX " +
	"GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR"

func withoutRepository(environment []string) []string {
	names := strings.Fields(repositoryVariables)
	return slices.DeleteFunc(environment, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
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
	command.Env = w.environment
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

// staged lists the files elsewhere that the next commit would take.
func (w *workTree) staged(ctx context.Context, elsewhere ...string) (files []string, err error) {
	args := []string{
		"diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", "--", ":/",
	}
	for _, place := range elsewhere {
		args = append(args, ":(exclude)"+place)
	}
	list, err := w.run(ctx, args...)
	return lines(list), err
}

// lines splits an output of git with -z.
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
