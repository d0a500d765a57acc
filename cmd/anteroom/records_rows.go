package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"

	"github.com/spf13/pflag"
)

// listing is a list of records, and how it is written.
type listing struct {
	t         *cli.Terminal
	list      records.List
	days      records.Days
	addresses bool
	format    string // jsonl, csv or tabs
	mark      bool   // whether a CSV begins with a byte order mark
	follow    bool   // whether it waits for more records
	visible   bool   // whether a person reads it at a terminal, which the words of strangers must not act on
}

const jsonl, asCSV, tabs = "jsonl", "csv", "tabs"

func (l *listing) addFlags(flags *pflag.FlagSet) {
	daysFlags(flags, &l.days.Since, &l.days.Through)
	addressesFlag(flags, &l.addresses)
}

func addressesFlag(flags *pflag.FlagSet, addresses *bool) {
	flags.BoolVar(addresses, "addresses", false, "show e-mail addresses, which are hidden else")
}

func (l *listing) check(args []string) (err error) {
	l.list, err = records.Named(args[0])
	return errors.Join(err, checkDays(l.days))
}

func (l *listing) print(ctx context.Context, r records.Reader, _ []string) error {
	if l.format, l.visible = tabs, true; l.t.JSON {
		l.format = jsonl
	}
	return l.write(ctx, r, l.t.Out)
}

func (l *listing) write(ctx context.Context, r records.Reader, w io.Writer) error {
	lines, cells := csv.NewWriter(w), l.list.Names()
	line := func() error { return lines.Write(cells) }
	if l.format == tabs {
		line = func() error {
			_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
			return err
		}
	}
	if l.mark {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return err
		}
	}
	if l.format != jsonl {
		if err := line(); err != nil {
			return err
		}
	}
	var place records.Place
	for {
		err := l.rows(ctx, r, w, cells, line, &place)
		if lines.Flush(); err == nil {
			err = lines.Error()
		}
		if err != nil && ctx.Err() == nil || !l.follow {
			return err
		}
		if err := l.t.Out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (l *listing) rows(ctx context.Context, r records.Reader, w io.Writer, cells []string, line func() error, place *records.Place) error {
	for row, err := range records.Rows(ctx, r, l.list, l.days, l.addresses, place) {
		if err != nil {
			return err
		}
		if l.format == jsonl {
			_, err = w.Write(append(cli.VisibleJSON(l.list.JSON(row)), '\n'))
		} else {
			for i, v := range row {
				if cells[i] = records.Text(v); l.format == asCSV {
					cells[i] = defused(v)
				}
				if l.visible {
					cells[i], _ = quote.Visible(cells[i])
				}
			}
			err = line()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// defused is a value as a cell of a spreadsheet, which would calculate a text that begins like a
// formula (OWASP, CSV injection).
func defused(v any) string {
	text, is := v.(string)
	if !is {
		return records.Text(v)
	}
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}
