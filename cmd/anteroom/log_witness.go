package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logWitnessCommand(t *cli.Terminal) *cobra.Command {
	var content string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "witness",
		Short: "Have the newest checkpoint cosigned by the witnesses",
		Long: `Witness asks each witness that ` + serviceFile + ` lists under log.witnesses to cosign the newest checkpoint of the
log (C2SP tlog-witness), checks what it answers, and keeps the cosignature in the content. A witness cosigns
only a log that goes on from what it has seen before. Call it after each anteroom verify; what one witness
has cosigned is kept where another fails, and the next call asks only those that have not.

Exit codes: 0 every witness has cosigned, 1 one has not, 2 there is no witness or no checkpoint, or called
wrongly.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error { return haveCosigned(cmd.Context(), t, content, asJSON) }),
	}
	cmd.Flags().StringVar(&content, "content", contentFolder, "the content `folder`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// cosigned is what became of asking one witness.
type cosigned struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Cosigned bool   `json:"cosigned"`
	New      bool   `json:"new"`             // whether it has done so now
	Error    string `json:"error,omitempty"` // why it has not
	line     []byte
}

// haveCosigned asks the witnesses of a content and keeps their cosignatures.
func haveCosigned(ctx context.Context, t *cli.Terminal, content string, asJSON bool) error {
	// What is wrong with the folder says loadContent.
	unlock, locked := verification.Lock(content)
	if locked == nil {
		defer unlock()
	}
	s, err := loadContent(content)
	if err == nil {
		err = locked
	}
	if err != nil {
		return err
	}
	stage := s.Log.Current()
	switch {
	case len(s.Service.Log.Witnesses) == 0:
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%s lists no witness (ask who runs one to take the log, and list its key and url under log.witnesses)",
			filepath.Join(content, serviceFile)))
	case stage == nil:
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%s has no checkpoint of a log yet (anteroom verify writes the first)", content))
	}
	asked := make([]cosigned, len(s.Log.Witnesses))
	client := &http.Client{}
	var asking sync.WaitGroup
	for i := range asked {
		w := &s.Log.Witnesses[i]
		asked[i] = cosigned{Name: w.Name(), URL: w.URL, Cosigned: stage.HasCosigned(w)}
		if asked[i].Cosigned {
			continue
		}
		asking.Go(func() {
			line, err := s.Log.Cosign(ctx, client, w)
			if asked[i].line = line; err != nil {
				asked[i].Error = err.Error()
			} else {
				asked[i].Cosigned, asked[i].New = true, true
			}
		})
	}
	asking.Wait()
	text, failed := bytes.Clone(stage.Checkpoint), []error(nil)
	for i := range asked {
		if text = append(text, asked[i].line...); asked[i].Error != "" {
			failed = append(failed, fmt.Errorf("witness %s at %s: %s", asked[i].Name, asked[i].URL, asked[i].Error))
		}
	}
	_, name := site.LogFiles(stage.Name)
	file := filepath.Join(content, filepath.FromSlash(name))
	written := len(text) > len(stage.Checkpoint)
	if written {
		c, err := tlog.Open(text, s.Log.Keys, s.Log.Witnesses)
		if err == nil && len(c.Cosigned) != len(asked)-len(failed) {
			err = errors.New("two witnesses have the same key")
		}
		if err == nil {
			err = disk.Replace(file, text)
		}
		if err != nil {
			return fmt.Errorf("keep the cosignatures in %s: %w", file, hintPermission(err))
		}
	}
	if asJSON {
		if err := t.PrintObject(struct {
			Checkpoint string     `json:"checkpoint"`
			Size       int64      `json:"size"`
			Witnesses  []cosigned `json:"witnesses"`
			Written    bool       `json:"written"`
		}{file, stage.Size, asked, written}); err != nil {
			return err
		}
	} else {
		for i := range asked {
			switch {
			case asked[i].New:
				t.Printf("%s has cosigned the tree of %d entries", asked[i].Name, stage.Size)
			case asked[i].Cosigned:
				t.Printf("%s has cosigned it before", asked[i].Name)
			}
		}
		if written {
			t.Printf("Wrote %s. Next: anteroom generate, and deploy.", file)
		}
	}
	return errors.Join(failed...)
}
