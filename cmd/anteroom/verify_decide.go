package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/verification"

	"golang.org/x/mod/sumdb/note"
)

// decide applies the answers, or has them written in an editor, shows the result, and writes it.
func (o *verifyOptions) decide(ctx context.Context, t *cli.Terminal, p *verification.Pending, key note.Signer,
	answers *verification.Answers, template []byte,
) error {
	draft, today := verification.Draft(o.content), t.Now().UTC().Format(time.DateOnly)
	decide := func(a *verification.Answers) (*verification.Decided, error) {
		decided, err := p.Decide(a, key, today)
		return decided, content.InFolder(o.content, err)
	}
	for {
		decided, err := (*verification.Decided)(nil), error(nil)
		if answers != nil {
			decided, err = decide(answers)
		} else {
			decided, err = verification.Edit(draft, template, func() error { return t.Edit(draft) }, decide)
		}
		if err != nil {
			return err
		}
		if decided == nil {
			t.Printf("Nothing was written: the answers are empty.")
			return nil
		}
		for line := range strings.Lines(p.Summary(decided)) {
			t.Printf("%s", strings.TrimRight(line, "\n"))
		}
		if err := t.Out.Flush(); err != nil {
			return err
		}
		choice := "y"
		if !o.yes && !t.Interactive {
			return errors.New("verify: nothing was written (--yes writes it)")
		} else if !o.yes {
			if choice, err = t.Choose(ctx, "Write this verification?", "yes", "no", "edit"); err != nil {
				return err
			}
		}
		switch {
		case choice == "y":
			return o.write(t, decided, draft)
		case answers == nil && choice == "n":
			t.Printf("Nothing was written. Your answers are kept in %s: anteroom verify opens them again.", draft)
			return nil
		case answers != nil:
			t.Printf("Nothing was written.")
			return nil
		}
	}
}

// write writes a verification, and says what to do next.
func (o *verifyOptions) write(t *cli.Terminal, decided *verification.Decided, draft string) error {
	if err := verification.Write(o.content, decided.Files); err != nil {
		return err
	}
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for _, file := range decided.Files {
		names = append(names, filepath.Join(o.content, filepath.FromSlash(file.Name)))
	}
	t.Printf("Wrote %s and %s.", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	if decided.Log != nil && len(decided.Log.Log.Witnesses) > 0 {
		t.Printf("Have the witnesses cosign it: anteroom log witness.")
	}
	t.Printf("Next: anteroom generate. Read its diff, commit it, and serve or deploy it.")
	return nil
}
