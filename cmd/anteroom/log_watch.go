package main

import (
	"context"
	"crypto/sha256"
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
	timeout       time.Duration
}

// lookTimeout bounds one look at a log of any size, whose files may each take the time of a
// request.
const lookTimeout = 10 * time.Minute

func logWatchCommand(t *cli.Terminal) *cobra.Command {
	var o logWatch
	cmd := &cobra.Command{
		Use:  "watch",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), t) },
	}
	flags := cmd.Flags()
	o.addFlags(cmd)
	flags.StringVar(&o.state, "state", "", "the `folder` of the keys and checkpoints that were seen")
	flags.StringVar(&o.maxAge, "max-age", "", "the greatest `age` of the newest verification, such as 14d or 36h")
	flags.DurationVar(&o.timeout, "timeout", lookTimeout, "the longest `time` that one check may take")
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
		return cli.Usage(errors.New("--url and --state are required"))
	}
	if o.timeout <= 0 {
		return cli.Usage(fmt.Errorf("--timeout %s: want more than 0", o.timeout))
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
	seen := map[string][]byte{} // the newest checkpoint of each tree
	look, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	read, where, err := o.service(look)
	if err != nil {
		return err
	}
	r := &watchReport{logReport: &logReport{Log: where, KeysFrom: o.state}, Kept: len(kept)}
	var unread error
	r.Report, unread = tlog.Check(tlog.Checking{
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
	if look.Err() != nil {
		unread = fmt.Errorf("the look took longer than %s (--timeout)", o.timeout)
	}
	if len(known) == 0 {
		warnTrusted(t, r.Report.Keys)
	}
	if n := len(r.Verifications); n > 0 {
		as, _ := time.Parse(time.DateOnly, r.Verifications[n-1].AsOf)
		old := t.Now().Sub(as)
		r.Age = fmt.Sprintf("%d days", int(old.Hours()/24))
		if old < 48*time.Hour {
			r.Age = cli.Plural(int(old.Hours()), "hour")
		}
		if maxAge > 0 && old > maxAge {
			r.Faults = append(r.Faults, tlog.PublishFault{
				Path: r.Verifications[n-1].Name, What: fmt.Sprintf("is the newest verification, and %s old: more than %s",
					r.Age, o.maxAge),
			})
		}
	}
	r.OK = r.Report.OK()
	if r.Kept, err = o.keep(r, seen, unread == nil); err != nil {
		err = fmt.Errorf("keep the checkpoints of %s: %w (--state names another folder)", where, err)
		if r.OK {
			return cli.Unusable("%w", err)
		}
		return err
	}
	if unread != nil && r.OK {
		return cli.Unusable("check the log of %s: %w", where, unread)
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	files, err := checkpointsIn(o.state)
	if err != nil {
		return nil, nil, err
	}
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

// checkpointsIn returns the checkpoint files in a folder, none if it does not exist. The folder may
// have any name, so no pattern is made of it.
func checkpointsIn(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), keptSuffix) {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files, nil
}

// keep writes the keys, and every checkpoint that is validly signed, into the folder, whatever else
// is wrong: a log that is late or faulty now must be held to them later. It writes the faults too,
// or removes the old ones after a whole check without a fault. It returns the number of checkpoints
// in the folder.
func (o *logWatch) keep(r *watchReport, seen map[string][]byte, whole bool) (int, error) {
	if len(r.Trees) == 0 && r.OK {
		return 0, nil
	}
	if err := os.MkdirAll(o.state, 0o777); err != nil {
		return 0, err
	}
	// The keys first: a folder with checkpoints and without keys would be refused.
	if len(r.Trees) > 0 {
		keys := []byte(strings.Join(r.Keys, "\n") + "\n")
		if err := writeKept(filepath.Join(o.state, watchedKeys), keys); err != nil {
			return 0, err
		}
	}
	for _, tree := range r.Trees {
		root := sha256.Sum256([]byte(tree.Root)) // two trees of one size are both kept
		name := fmt.Sprintf("%s-%d-%x%s", strings.ReplaceAll(tree.Origin, "/", "_"), tree.Size, root[:4], keptSuffix)
		path := tlog.CheckpointPath("/" + tree.Origin[strings.Index(tree.Origin, "/")+1:])
		if err := writeKept(filepath.Join(o.state, name), seen[path]); err != nil {
			return 0, err
		}
	}
	faults := filepath.Join(o.state, watchedFaults)
	if !r.OK {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return 0, err
		}
		if err := writeKept(faults, append(text, '\n')); err != nil {
			return 0, err
		}
	} else if whole {
		if err := os.Remove(faults); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	files, err := checkpointsIn(o.state)
	return len(files), err
}
