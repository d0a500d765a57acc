package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/git"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/generator/site"
)

func (p *publication) commit(ctx context.Context) (string, error) {
	done, err := p.commitTo(ctx)
	if failed := (*git.Error)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w (mend what git names, or leave this step out with --no-commit)\n%s",
			failed.Command, failed.Err, failed.Words)
	}
	return done, err
}

func (p *publication) commitTo(ctx context.Context) (string, error) {
	tree, err := git.Find(ctx, filepath.Dir(p.verify.Content))
	if err != nil {
		return "", err
	}
	if tree == nil {
		return "no .git here: nothing to commit to", nil
	}
	var ours []string
	for _, place := range []string{p.verify.Content, p.generation.public, p.generation.snapshot} {
		absolute, err := filepath.Abs(place)
		if err != nil {
			return "", err
		}
		ours = append(ours, absolute)
	}
	others := []string{"diff", "--cached", "--name-only", "--", ":/"}
	for _, place := range ours {
		others = append(others, ":(exclude)"+place)
	}
	if staged, err := tree.Run(ctx, others...); err != nil {
		return "", err
	} else if staged != "" {
		return "", fmt.Errorf("other changes are staged: %s (commit or unstage them, or leave this step out with --no-commit)",
			strings.ReplaceAll(staged, "\n", ", "))
	}
	add := append([]string{"add", "--"}, ours...)
	for _, pattern := range site.IgnoredNames { // the content leaves them out
		add = append(add, ":(exclude,glob)"+filepath.Base(p.verify.Content)+"/**/"+pattern)
	}
	if _, err := tree.Run(ctx, add...); err != nil {
		return "", err
	}
	changed, err := tree.Run(ctx, "diff", "--cached", "--name-only")
	if err != nil || changed == "" {
		return "nothing has changed", err
	}
	message := "Publish the content"
	if strings.Contains(changed, "verifications/"+p.site.Current().File+".yaml") {
		message = "Hand verification of " + p.site.Current().File
	}
	_, err = tree.Run(ctx, "commit", "--quiet", "--message", message)
	return message, err
}

// liveWait is how long a server may take to show what it was told to read.
const liveWait = 30 * time.Second

// goLive has the service show the documents, if it shows others.
func (p *publication) goLive(ctx context.Context) (string, error) {
	version, err := p.service.Version(ctx)
	if err == nil && version == p.artifact.Snapshot.ShortVersion() {
		return fmt.Sprintf("%s shows content %s already", p.service, version), nil
	}
	if p.deployed = p.store.remote != ""; p.deployed {
		p.deployment.Config, p.deployment.Artifact = p.store.config, p.artifact
		if err := p.deployment.prepare(ctx, p.t); err != nil {
			return "", err
		}
		return "deployed", p.deployment.run(ctx, p.t)
	}
	if p.reload == "" {
		return "", fmt.Errorf("%s shows content %s, and not %s (write reload = \"COMMAND\" into %s, or reload the server yourself)",
			p.service, cmp.Or(version, "none"), p.artifact.Snapshot.ShortVersion(), cli.SettingsFile)
	}
	command := exec.CommandContext(ctx, "sh", "-c", p.reload)
	command.Env = git.Environment(ctx) // it may well be a git push
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stdout, command.Stderr = p.t.Err, p.t.Err
	if err := command.Run(); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", fmt.Errorf("run %s: %w (--reload names the command, or reload in %s)", p.reload, err, cli.SettingsFile)
	}
	return "ran " + p.reload, nil
}

func (p *publication) check(ctx context.Context) (string, error) {
	if !p.deployed { // a deployment does so
		r, err := p.service.Inspect(ctx, p.artifact, live.Options{Now: p.t.Now, Wait: liveWait})
		if err != nil {
			return "", err
		}
		if err := r.Err(p.generation.public); err != nil {
			r.Print(p.t, p.generation.public)
			return "", err
		}
	}
	return fmt.Sprintf("%s shows the board of %s", p.service, p.site.Current().File), nil
}
