package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logWitnessCommand(t *cli.Terminal) *cobra.Command {
	var content string
	cmd := &cobra.Command{
		Use: "witness",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := haveCosigned(cmd.Context(), content, t.Now())
			if c == nil {
				return err
			}
			return errors.Join(err, t.Answer(c, func() {
				for _, w := range c.Witnesses {
					switch {
					case w.New:
						t.Printf("%s has cosigned the tree of %d entries", w.Name, c.Size)
					case w.Cosigned:
						t.Printf("%s has cosigned it before", w.Name)
					}
				}
				if c.Written {
					t.Printf("Wrote %s. Next: anteroom publish.", c.Checkpoint)
				}
			}))
		},
	}
	contentFlag(cmd.Flags(), &content)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

// cosigned is the result of asking witnesses.
type cosigned struct {
	Checkpoint string       `json:"checkpoint"` // the file
	Size       int64        `json:"size"`
	Witnesses  []tlog.Asked `json:"witnesses"`
	Written    bool         `json:"written"`
}

// haveCosigned has the witnesses of a content cosign, and keeps their cosignatures. If one fails,
// it returns both the result and an error.
func haveCosigned(ctx context.Context, content string, now time.Time) (*cosigned, error) {
	// An error of loadContent is more helpful than one of the lock.
	unlock, locked := verification.Lock(content)
	if locked == nil {
		defer unlock()
	}
	s, err := loadContent(content, now)
	if err == nil {
		err = locked
	}
	if err != nil {
		return nil, err
	}
	return askWitnesses(ctx, content, s)
}

func askWitnesses(ctx context.Context, content string, s *site.Site) (*cosigned, error) {
	stage := s.Log.Current()
	switch {
	case len(s.Log.Witnesses) == 0:
		return nil, cli.Unusable("%s lists no witness (ask the operator of one to add the log, and list its key "+
			"and url under log.witnesses)",
			filepath.Join(content, serviceFile))
	case stage == nil:
		return nil, cli.Unusable("%s has no checkpoint of a log yet (anteroom verify writes the first)", content)
	}
	_, name := site.LogFiles(stage.Name)
	file := filepath.Join(content, filepath.FromSlash(name))
	asked, text, err := s.Log.CosignAll(ctx, &http.Client{})
	written := !bytes.Equal(text, stage.Checkpoint)
	if err == nil && written {
		err = disk.Replace(file, text)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the cosignatures in %s: %w", file, hintPermission(err))
	}
	var failed []error
	for _, w := range asked {
		if w.Error != "" {
			failed = append(failed, fmt.Errorf("witness %s at %s: %s", w.Name, w.URL, w.Error))
		}
	}
	return &cosigned{file, stage.Size, asked, written}, errors.Join(failed...)
}
