package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/remote"
	"anteroom/generator"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// patience is how long a check waits for another machine.
const patience = 5 * time.Second

// doctor looks at what a service needs, and changes nothing.
type doctor struct {
	t            *cli.Terminal
	serve        serveOptions
	store        storeFlags
	logKey       logKeySource
	backups      string
	public       string
	native       bool     // whether the service runs on this machine, or may be about to
	environments []string // of wrangler.toml, that are looked at on Cloudflare
	origin       string   // the URL of the service for its readers

	site   *site.Site // nil where the content is faulty
	output *generator.Output
}

// check looks at one thing. What it finds are lines, in their order; none where there is nothing to
// look at. It waits for other machines no longer than ctx.
type check struct {
	name string
	look func(d *doctor, ctx context.Context, f *findings)
}

// checks are all checks, in the order in which they are told. They run side by side.
var checks = []check{
	{"documents", (*doctor).documents},
	{"security.txt", (*doctor).securityTxt},
	{"last good content", (*doctor).lastGood},
	{"verification", (*doctor).verification},
	{"key", (*doctor).key},
	{"log", (*doctor).log},
	{"database", (*doctor).database},
	{"disk", (*doctor).disk},
	{"backups", (*doctor).lastBackup},
	{"mail", (*doctor).mail},
	{"port", (*doctor).port},
	{"permissions", (*doctor).permissions},
	{"git", (*doctor).git},
	{"tools", (*doctor).tools},
	{"cloudflare", (*doctor).cloudflare},
	{"clock", (*doctor).clock},
}

// severity is how bad a thing is.
type severity string

// With a fault the service does not work, or says or loses something that it must
// not.
const (
	fine    severity = "ok"
	warning severity = "warning"
	fault   severity = "fault"
)

// finding is a line of what the doctor says.
type finding struct {
	Check  string   `json:"check"`
	Status severity `json:"status"`
	What   string   `json:"what"`
	Mend   string   `json:"mend,omitempty"` // what to do next
}

// findings are those of one check.
type findings struct {
	check string
	list  []finding
}

func (f *findings) add(s severity, mend, format string, args ...any) {
	f.list = append(f.list, finding{f.check, s, fmt.Sprintf(format, args...), mend})
}

func (f *findings) ok(format string, args ...any)         { f.add(fine, "", format, args...) }
func (f *findings) warn(mend, format string, args ...any) { f.add(warning, mend, format, args...) }

func (f *findings) fault(mend, format string, args ...any) { f.add(fault, mend, format, args...) }

// asTheUser mends what this user may not see.
const asTheUser = "run doctor as the user of the service"

// err adds an error, whose last words in brackets say what to do next. Each line of it is a finding
// of its own.
func (f *findings) err(s severity, err error) {
	for line := range strings.Lines(err.Error()) {
		what, mend := cli.SplitHint(strings.TrimSpace(line))
		if mend == "" && errors.Is(err, fs.ErrPermission) {
			mend = asTheUser
		}
		f.add(s, mend, "%s", what)
	}
}

func doctorCommand(t *cli.Terminal) *cobra.Command {
	d := doctor{t: t}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine and this service lack, with the mend of each",
		Long: `Doctor looks at the content, the documents, the keys, the database, the mail, the port, permissions and
the clock, and changes nothing. A line for each says ok, warning or fault, and in brackets what to do.

It looks at what is there: at the server on this machine where there is a data folder or --data names
one, at Cloudflare with --remote or where wrangler.toml names a database that was made; where there is
neither, at the server that is to be. Give it the flags and the environment of anteroom serve, and run
it as the user of the service, or as root. It logs in to the mail server and sends nothing. What the
network keeps it from seeing is a warning.

  anteroom doctor --data /var/lib/anteroom --key-file receipt.key

Exit codes: 0 no fault, 1 a fault, 2 called wrongly.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			text := func(name string) string { return flags.Lookup(name).Value.String() }
			d.serve = serveOptions{
				content: text("content"), address: text("addr"), data: text("data"), outbox: text("outbox"),
				keyFile: text("key-file"), smtp: text("smtp"), smtpFile: text("smtp-file"), unsigned: text("unsigned") == "true", key: os.Getenv("ANTEROOM_KEY"),
			}
			if err := d.serve.check(); err != nil {
				return cli.Usage(err)
			}
			found, err := d.examine(cmd.Context(), flags.Changed("data"))
			if err != nil {
				return err
			}
			return printFindings(d.t, found, asJSON)
		}),
	}
	flags := cmd.Flags()
	serve := serveCommand(t).Flags()
	for _, name := range []string{"create", "watch", "write-limit", "host", "client-ip-header", "log-format", "metrics-addr"} {
		serve.Lookup(name).Usage += "; not looked at here"
	}
	flags.StringVar(&d.public, "public", publicFolder, "the `folder` of the documents")
	flags.AddFlagSet(serve)
	flags.StringVar(&d.store.remote, "remote", "", "the `environment` of wrangler.toml to look at (default those whose database was made)")
	flags.StringVar(&d.store.wrangler, "wrangler", wranglerFile, "the `file` that names what is on Cloudflare")
	d.logKey.addFlag(flags)
	flags.StringVar(&d.backups, "backups", "", "a `folder` that anteroom backup writes to, to look at the age of the newest one")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// examine runs all checks. chosen says whether somebody named the data folder.
func (d *doctor) examine(ctx context.Context, chosen bool) ([]finding, error) {
	first := findings{check: "content"}
	d.content(&first) // the others need it
	var err error
	if d.store.remote != "" {
		d.environments = []string{d.store.remote}
	} else if d.environments, err = remote.Environments(d.store.wrangler); err != nil {
		first.check = "cloudflare"
		first.fault("mend the file", "%v", err)
	}
	_, err = os.Lstat(d.serve.data)
	d.native = chosen || err == nil || len(d.environments) == 0
	if d.site != nil && d.origin == "" {
		d.origin = d.site.Service.BaseURL()
	}

	found := make([]findings, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			found[i].check = c.name
			c.look(d, ctx, &found[i])
		})
	}
	all.Wait()
	list := first.list
	for _, f := range found {
		list = append(list, f.list...)
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	return list, nil
}

// unreachable reports whether an error is one of the network or of a time that is over.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}

// printFindings prints what the doctor found: a line for each, or one JSON object. Its error ends
// the command where there is a fault.
func printFindings(t *cli.Terminal, list []finding, asJSON bool) error {
	count := func(s severity) (n int) {
		for _, f := range list {
			if f.Status == s {
				n++
			}
		}
		return n
	}
	faults, warnings := count(fault), count(warning)
	if asJSON {
		err := t.PrintObject(struct {
			Faults   int       `json:"faults"`
			Warnings int       `json:"warnings"`
			Findings []finding `json:"findings"`
		}{faults, warnings, list})
		if err != nil {
			return err
		}
	} else {
		for _, f := range list {
			line := fmt.Sprintf("%-7s %s: %s", f.Status, f.Check, f.What)
			if f.Mend != "" {
				line += " (" + f.Mend + ")"
			}
			t.Printf("%s", line)
		}
		t.Printf("%s, %s", cli.Plural(faults, "fault"), cli.Plural(warnings, "warning"))
	}
	if faults > 0 {
		return cli.Exit(cli.ExitFailure, cli.ErrSilent)
	}
	return nil
}

// few names some things of a list in words.
func few(list []string) string {
	const most = 4
	list = slices.Clone(list)
	if n := len(list); n > most {
		list = append(list[:most-1], fmt.Sprintf("%d more", n-most+1))
	}
	return strings.Join(list, ", ")
}

// dataFile is a file or folder in the data folder.
func (d *doctor) dataFile(name string) string { return filepath.Join(d.serve.data, name) }
