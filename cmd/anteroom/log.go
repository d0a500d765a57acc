package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/jsondoc"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

func logCommand(t *cli.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Prove from the public log, check it, have it cosigned",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(logProveCommand(t), logCheckCommand(t), logWitnessCommand(t))
	return cmd
}

// logFlags say where a log is read from, and which keys are trusted.
type logFlags struct {
	content, url, host string
	keys               []string
}

func (o *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.content, "content", contentFolder, "the content `folder` whose keys are trusted without --key, where it is there and of that host")
	flags.StringVar(&o.url, "url", "", "the `address` of the service that publishes the log, such as https://www.anteroom.example")
	flags.StringVar(&o.host, "host-header", "", "the host `name` to ask for, where the address has another")
	flags.StringArrayVar(&o.keys, "key", nil, "a `verifier key` of the log that is trusted; may be given several times")
}

// service is the one that --url names.
func (o *logFlags) service() (*live.Service, error) {
	s, err := live.New(o.url)
	if err != nil {
		return nil, cli.Usage(err)
	}
	s.Host = o.host
	return s, nil
}

// trust is whom a check believes: the keys of a log and its witnesses. Without keys it believes
// what the service itself publishes.
type trust struct {
	keys      []string
	witnesses []tlog.Witness
	from      string // where the keys come from
}

// trusted gives the keys of --key, else those of the content where that is of the host that is
// asked.
func (o *logFlags) trusted() (*trust, error) {
	for _, key := range o.keys {
		if _, err := tlog.CheckKey(key); err != nil {
			return nil, cli.Usage(fmt.Errorf("--key %.100q: %w", key, err))
		}
	}
	if len(o.keys) > 0 {
		return &trust{keys: o.keys, from: "--key"}, nil
	}
	file := filepath.Join(o.content, serviceFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &trust{}, nil
	}
	// The content as a whole may hold a log that takes longer to read than the one to be checked.
	var s site.Service
	if err == nil {
		err = yaml.Load(text, &s)
	}
	if err != nil {
		return nil, cli.Exit(cli.ExitUsage, fmt.Errorf("read the keys of the log in %s: %w (mend it, or give them with --key)", file, err))
	}
	if len(s.Log.Keys) == 0 || o.url != "" && !o.asks(&s) {
		return &trust{}, nil
	}
	return &trust{keys: s.Log.Keys, witnesses: s.Log.Witnesses, from: o.content}, nil
}

// asks reports whether the service that is asked is that of a content: by its name, or on this
// machine.
func (o *logFlags) asks(s *site.Service) bool {
	address, err := url.Parse(o.url)
	if err != nil {
		return false
	}
	host := strings.ToLower(address.Hostname())
	if o.host != "" {
		host = strings.ToLower(o.host)
	} else if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return host == s.CanonicalHost || host == s.ApexHost || slices.Contains(s.PreviewHosts, host)
}

// hintKeys says what to do where a checkpoint is signed with none of the keys that are trusted.
func hintKeys(err error) error {
	if errors.Is(err, tlog.ErrUnknownKey) {
		return fmt.Errorf("%w (each tree has a key of its own: give all that you trust with --key)", err)
	}
	return err
}

// warnTrusted says that keys are trusted because the service itself publishes them.
func warnTrusted(t *cli.Terminal, keys []string) {
	for _, key := range keys {
		t.Warnf("the key %s is taken on trust, as the service itself publishes it (compare it with what others have, and give it with --key)", key)
	}
}

// readFrom is a tlog.Source of a service.
func readFrom(ctx context.Context, s *live.Service) tlog.Source {
	return func(path string) ([]byte, error) { return s.File(ctx, path) }
}

// readIn is a tlog.Source of a folder of documents.
func readIn(folder string) tlog.Source {
	return func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, filepath.FromSlash(path))) }
}

// filesAtOnce is how many files are read at a time.
func (o *logFlags) filesAtOnce() int {
	if o.url != "" {
		return live.FilesAtOnce
	}
	return runtime.GOMAXPROCS(0)
}

// maxKept is the largest answer, checkpoint or proof that is read, in bytes.
const maxKept = 1 << 20

// The forms of a record_id and of a payload_sha256.
var (
	recordIDs     = regexp.MustCompile(`^[0-9a-f]{32}$`)
	payloadSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// recordHash gives the hash by which the log names a record: from its digits, or from the answer in
// a file, on stdin where that is "-".
func recordHash(stdin io.Reader, argument string) (string, error) {
	if hash, ok := tlog.ParseHash(argument); ok {
		return hash, nil
	}
	hash, err := readRecordHash(stdin, argument)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (give its file, or a hash of 64 hexadecimal digits)", err)
	}
	if err != nil {
		return "", cli.Exit(cli.ExitUsage, fmt.Errorf("read the answer: %w", err))
	}
	return hash, nil
}

func readRecordHash(stdin io.Reader, name string) (string, error) {
	const whole = "give the whole answer of the registration or charter, as it was received"
	text, err := readFile(stdin, name, maxKept)
	if err != nil {
		return "", err
	}
	answer, err := jsondoc.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w (%s)", name, err, whole)
	}
	if answer.Kind != jsondoc.Object {
		return "", fmt.Errorf("%s: it is %s (%s)", name, answer.Kind, whole)
	}
	for _, wrapping := range []string{"result", "structuredContent"} { // of an MCP tool
		if inner := answer.Get(wrapping); inner.Kind == jsondoc.Object {
			answer = *inner
		}
	}
	id, payload := answer.Get("record_id"), answer.Get("payload_sha256")
	switch {
	case answer.Get("receipt_spec").Kind == jsondoc.String:
		return "", fmt.Errorf("%s is a receipt, which no verification counts (%s)", name, whole)
	case answer.Get("recorded").Kind == jsondoc.Bool && !answer.Get("recorded").True:
		return "", fmt.Errorf("%s is the answer of a dry run: nothing was recorded (do it without dry_run, and %s)", name, whole)
	case !recordIDs.MatchString(id.Text):
		return "", fmt.Errorf("%s has no record_id of 32 hexadecimal digits (%s)", name, whole)
	case payloadSHA256.MatchString(payload.Text):
		return tlog.RecordHash(id.Text, payload.Text), nil
	case answer.Get("text_sha256").Kind == jsondoc.String: // a suggestion is named by its record_id alone
		return tlog.RecordHash(id.Text, ""), nil
	}
	return "", fmt.Errorf("%s has no payload_sha256 of 64 hexadecimal digits (%s)", name, whole)
}

// provedReport is what is said of a proof, in JSON.
type provedReport struct {
	Kind         string   `json:"kind"`
	CountsAs     *string  `json:"counts_as"` // null where that is not known
	Entry        string   `json:"entry"`
	Index        int64    `json:"index"` // in its tree
	Verification string   `json:"verification"`
	AsOf         string   `json:"as_of"`
	Origin       string   `json:"origin"`
	Size         int64    `json:"size"`
	Cosigned     []string `json:"cosigned"`
	Keys         string   `json:"keys_from"` // "" where they were taken on trust
	Proof        string   `json:"proof"`
}

func reportOf(p *tlog.Proved, from string) *provedReport {
	r := &provedReport{
		Kind: p.Entry.Kind, Entry: p.Entry.Hash, Index: p.Proof.Index, Verification: p.Verification.Board, AsOf: p.Verification.AsOf,
		Origin: p.Checkpoint.Origin, Size: p.Checkpoint.Size, Cosigned: append([]string{}, p.Checkpoint.Cosigned...), Keys: from, Proof: string(p.Proof.Append(nil)),
	}
	if p.CountsAs != "" {
		r.CountsAs = &p.CountsAs
	}
	return r
}

// lines say what a proof proves.
func (r *provedReport) lines() []string {
	lines := []string{
		fmt.Sprintf("entry %d of %s: a record that counts as %s, by the hand verification as of %s (%s)", r.Index, r.Origin, r.Kind, r.AsOf, r.Verification),
		fmt.Sprintf("signed with the first %d entries, %s", r.Size, cosignedBy(r.Cosigned)),
	}
	if r.CountsAs != nil && *r.CountsAs != r.Kind {
		lines = append(lines, "corrected since: it counts as "+*r.CountsAs)
	}
	return lines
}

// cosignedBy says which witnesses have cosigned.
func cosignedBy(names []string) string {
	if len(names) == 0 {
		return "cosigned by no known witness"
	}
	return "cosigned by " + strings.Join(names, ", ")
}
