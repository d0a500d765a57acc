package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

// Files in the folder of log watch, next to a checkpoint file for each signed tree.
const (
	watchedKeys   = "vkey"
	watchedFaults = "faults.json"
	keptSuffix    = ".checkpoint"
)

// logWatch watches a log and keeps its checkpoints in a folder.
type logWatch struct {
	logTarget
	state, maxAge string
}

func logWatchCommand(t *cli.Terminal) *cobra.Command {
	var o logWatch
	cmd := &cobra.Command{
		Use: "watch", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), t) },
	}
	flags := cmd.Flags()
	o.addFlags(cmd)
	flags.StringVar(&o.state, "state", "", "the `folder` of the keys and checkpoints that were seen")
	flags.StringVar(&o.maxAge, "max-age", "", "the greatest `age` of the newest verification, such as 14d or 36h")
	jsonFlag(flags, &t.JSON)
	return cmd
}

// watchReport is the output of log watch.
type watchReport struct {
	*logReport
	Age  string `json:"age"`  // of the newest verification
	Kept int    `json:"kept"` // checkpoints in the folder
}

func (o *logWatch) run(ctx context.Context, t *cli.Terminal) error {
	if o.url == "" || o.state == "" {
		return cli.Usage(errors.New("log watch wants --url and --state"))
	}
	maxAge, err := age(o.maxAge)
	if err != nil {
		return cli.Usage(fmt.Errorf("--max-age %.40q: %w", o.maxAge, err))
	}
	trusted, err := o.trust()
	if err != nil {
		return err
	}
	known, kept, err := o.load()
	if err != nil {
		return cli.Unusable("read %s: %w", o.state, err)
	}
	for _, key := range trusted.Keys {
		if !slices.Contains(known, key) {
			known = append(known, key)
		}
	}
	read, where, err := o.service(ctx)
	if err != nil {
		return err
	}
	seen := map[string][]byte{} // the newest checkpoint of each tree
	r := &watchReport{logReport: &logReport{Log: where, KeysFrom: o.state}, Kept: len(kept)}
	r.Report, err = tlog.Check(tlog.Checking{
		Keys: known, Kept: kept, Policy: trusted.Policy, Now: t.Now(),
		Read: func(path string) ([]byte, error) {
			text, err := read(path)
			if strings.HasSuffix(path, "/checkpoint") { // never two at a time
				seen[path] = text
			}
			return text, err
		},
	})
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err != nil && r.Report.OK() {
		return cli.Unusable("check the log of %s: %w", where, err)
	}
	if len(known) == 0 {
		warnTrusted(t, r.Report.Keys)
	}
	if n := len(r.Verifications); n > 0 {
		as, _ := time.Parse(time.DateOnly, r.Verifications[n-1].AsOf)
		old := t.Now().Sub(as)
		r.Age = fmt.Sprintf("%d days", int(old.Hours()/24))
		if maxAge > 0 && old > maxAge {
			r.Faults = append(r.Faults, tlog.PublishFault{
				Path: r.Verifications[n-1].Name, What: fmt.Sprintf("is the newest verification, and %s old: more than %s",
					r.Age, o.maxAge),
			})
		}
	}
	r.OK = r.Report.OK()
	if r.Kept, err = o.keep(r, seen, len(kept)); err != nil {
		return fmt.Errorf("keep what the log of %s has signed: %w", where, err)
	}
	if err := t.Answer(r, func() { t.Printf("%s", r) }); err != nil || r.OK {
		return err
	}
	return r.err("the evidence is in " + filepath.Join(o.state, watchedFaults))
}

// String returns the report as one line.
func (r *watchReport) String() string {
	if len(r.Forks) > 0 {
		return fmt.Sprintf("%s: FORKED: %s", r.Log, r.Forks[0].What)
	}
	if len(r.Faults) > 0 {
		return fmt.Sprintf("%s: fault: %s: %s%s", r.Log, r.Faults[0].Path, r.Faults[0].What, andMore(len(r.Faults)-1))
	}
	end := r.Trees[len(r.Trees)-1]
	return fmt.Sprintf("%s: ok: %s of %s, the newest verification is %s old, %s; %s kept", r.Log,
		cli.Plural(int(end.Size), "entry"), end.Origin, r.Age, cosignedBy(end.Cosigned), cli.Plural(r.Kept, "checkpoint"))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

func writeKept(path string, text []byte) error {
	next := path + ".new"
	os.Remove(next) // of a run that was killed
	if err := disk.WriteNew(next, text); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}

// age reads a duration, which may be in days; zero if it is empty.
func age(text string) (time.Duration, error) {
	days, inDays := strings.CutSuffix(text, "d")
	if n, err := strconv.Atoi(days); inDays && err == nil && n > 0 && n < 1e5 {
		return time.Duration(n) * 24 * time.Hour, nil
	}
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("want days or hours, such as 14d or 36h")
	}
	return d, nil
}

func (o *logWatch) load() (keys []string, kept [][]byte, err error) {
	text, err := os.ReadFile(filepath.Join(o.state, watchedKeys))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	files, _ := filepath.Glob(filepath.Join(o.state, "*"+keptSuffix))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		kept = append(kept, text)
	}
	if len(text) == 0 && len(kept) > 0 {
		return nil, nil, fmt.Errorf("checkpoints without their keys: %s is missing (restore it, or begin with "+
			"another folder)", watchedKeys)
	}
	return strings.Fields(string(text)), kept, nil
}

// keep writes the keys and checkpoints of a check without faults into the folder, and otherwise the
// faults. It returns the number of checkpoints in the folder.
func (o *logWatch) keep(r *watchReport, seen map[string][]byte, kept int) (int, error) {
	faults := filepath.Join(o.state, watchedFaults)
	if err := os.MkdirAll(o.state, 0o777); err != nil {
		return 0, err
	}
	if !r.OK {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return 0, err
		}
		return kept, writeKept(faults, append(text, '\n'))
	}
	// The keys first: a folder with checkpoints and without keys would be refused.
	if err := writeKept(filepath.Join(o.state, watchedKeys), []byte(strings.Join(r.Keys, "\n")+"\n")); err != nil {
		return 0, err
	}
	for _, tree := range r.Trees {
		path := tlog.CheckpointPath("/" + tree.Origin[strings.Index(tree.Origin, "/")+1:])
		name := fmt.Sprintf("%s-%d%s", strings.ReplaceAll(tree.Origin, "/", "_"), tree.Size, keptSuffix)
		if err := writeKept(filepath.Join(o.state, name), seen[path]); err != nil {
			return 0, err
		}
	}
	if err := os.Remove(faults); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(o.state, "*"+keptSuffix))
	return len(files), err
}
