package verification

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
)

// Undo takes back the newest verification, unless it is public: in the folder of documents, or by
// the service.
func Undo(ctx context.Context, t *cli.Terminal, o *Options) error {
	s, unlock, err := Begin(o.Content, t.Now())
	if err != nil {
		return err
	}
	defer unlock()
	name := s.Current().File
	if len(s.Verifications) < 2 {
		return fmt.Errorf("undo: %s is the first board, which no verification is before (edit it, as long as it is not public)", name)
	}
	if stage := s.Log.Current(); stage != nil && stage.Name == name && len(stage.Cosigned) > 0 {
		return fmt.Errorf("undo: witnesses have cosigned %s (publish it; the next verification corrects what is wrong)", name)
	}
	public, err := o.Compare(ctx, s)
	place := s.Service.BaseURL()
	if public.InFolder {
		place = o.Public
	}
	if public.InFolder || public.ByService {
		return fmt.Errorf("undo: %s is public, in %s (the next verification corrects what is wrong)", name, place)
	} else if err != nil {
		return err
	}
	var gone []string
	for _, file := range filesOf(name) {
		path := inside(o.Content, file)
		if _, err := os.Lstat(path); err == nil {
			gone = append(gone, path)
		}
	}
	if err := errors.Join(begin(o.Content, name), Finish(o.Content)); err != nil {
		return fmt.Errorf("undo: %w (run anteroom verify --undo again)", err)
	}
	t.Printf("Took verification %s back: removed %s.", name, strings.Join(gone, ", "))
	return nil
}
