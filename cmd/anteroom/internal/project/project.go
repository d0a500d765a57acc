// Package project is the folder of a service: it begins a new one, loads and generates its content,
// publishes the documents and the snapshot, and shows the pages while they are written.
package project

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// Unfinished is the file in a content folder that names an incomplete verification. Only package
// verification writes and removes it.
const Unfinished = ".verification"

// Load loads and checks a content folder, and changes nothing there. Its dates must not be later
// than now.
func Load(folder string, now time.Time) (*site.Site, error) {
	const hint = "(give this user access to the content folder)"
	if info, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("there is no content folder %s (name it with --content, or run this where it is)", folder)
	} else if err != nil {
		return nil, fmt.Errorf("%w %s", err, hint)
	}
	if _, err := os.Lstat(filepath.Join(folder, Unfinished)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w %s", err, hint)
	} else if err == nil {
		return nil, fmt.Errorf("%s contains an incomplete verification (anteroom verify removes it)", folder)
	}
	s, err := site.Load(os.DirFS(folder))
	if err != nil {
		return nil, InFolder(folder, err)
	}
	if err := s.CheckDay(now.UTC().Format(time.DateOnly)); err != nil {
		return nil, DateError{InFolder(folder, err)}
	}
	return s, nil
}

// DateError is a date of the content that contradicts the command's clock.
type DateError struct{ error }

func (e DateError) Unwrap() error { return e.error }

// Generate loads a content folder and generates its documents in memory.
func Generate(folder string, now time.Time) (*site.Site, *generator.Output, error) {
	s, err := Load(folder, now)
	if err != nil {
		return nil, nil, err
	}
	output, err := generator.Generate(s)
	return s, output, InFolder(folder, err)
}

// InFolder names the content folder in an error that lists faults of the content.
func InFolder(folder string, err error) error {
	if faults := site.Errors(nil); errors.As(err, &faults) {
		for i := range faults {
			faults[i].File = path.Join(folder, faults[i].File)
		}
		return contentError{folder, faults}
	}
	return err
}

type contentError struct {
	folder string
	site.Errors
}

func (e contentError) Folder() string { return e.folder }

func (e contentError) Faults() []cli.Fault {
	faults := make([]cli.Fault, len(e.Errors))
	for i, f := range e.Errors {
		faults[i] = cli.Fault{File: f.File, Line: f.Line, Column: f.Column, Message: f.What, Hint: f.Hint}
	}
	return faults
}

// Expiry reports whether security.txt must not be used any more (RFC 9116, section 2.5.5). The
// notice names its Expires if that is past or near.
func Expiry(expires, now time.Time) (expired bool, notice string) {
	const hint = "(check its contacts and set a later security.expires in service.yaml)"
	switch left := expires.Sub(now); {
	case left <= 0:
		return true, fmt.Sprintf("security.txt expired at %s %s", expires.Format(time.RFC3339), hint)
	case left < output.ExpiryNotice:
		return false, fmt.Sprintf("security.txt expires at %s %s", expires.Format(time.RFC3339), hint)
	}
	return false, ""
}
