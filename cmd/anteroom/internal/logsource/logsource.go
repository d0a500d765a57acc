// Package logsource says where the log commands read a public log, whose keys they trust, and which
// record an answer is about.
package logsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

// Target is what the flags of a log command name.
type Target struct {
	Content, URL, Host string
	Keys               []string
	policy             string
	witnesses          []string
}

// AddFlags adds the flags to a command. content is the usual content folder.
func (o *Target) AddFlags(flags *pflag.FlagSet, content string) {
	flags.StringVar(&o.Content, "content", content, "the content `folder` whose keys are trusted without --key, if it is of that host")
	flags.StringVar(&o.URL, "url", "", "the `address` of the service that publishes the log, such as https://www.anteroom.example")
	flags.StringVar(&o.Host, "host-header", "", "the host `name` to ask for, if the address has another")
	flags.StringArrayVar(&o.Keys, "key", nil, "a `verifier key` of the log that is trusted, or the lines of /log/vkey as they were kept; may be given several times")
	flags.StringVar(&o.policy, "policy", "", "the `file` that says which witnesses must have cosigned (C2SP tlog-policy), and the keys of the log")
	flags.StringArrayVar(&o.witnesses, "witness", nil, "the verifier `key` of a witness that must have cosigned; may be given several times")
}

// Asks reports whether a flag says whom to trust.
func (o *Target) Asks() bool { return len(o.Keys)+len(o.witnesses) > 0 || o.policy != "" }

// Quorum is what --policy and --witness ask for; nil if they are not given.
func (o *Target) Quorum() (p *tlog.Policy, err error) {
	switch {
	case o.policy != "" && len(o.witnesses) > 0:
		return nil, cli.Usage(errors.New("--policy and --witness exclude each other"))
	case len(o.witnesses) > 0:
		p, err = tlog.PolicyOf(o.witnesses)
	case o.policy != "":
		var text []byte
		if text, err = cli.ReadText(nil, o.policy, MaxFile); err == nil {
			p, err = tlog.ParsePolicy(text)
		}
	}
	if err != nil {
		return nil, cli.Unusable("ask for witnesses: %w", err)
	}
	return p, nil
}

// Trust is what a check trusts: the keys of a log and its witnesses. Without keys it trusts what
// the service itself publishes.
type Trust struct {
	Keys      []string
	Witnesses []tlog.Witness
	Policy    *tlog.Policy      // nil if no witness must have cosigned
	Ends      []tlog.Checkpoint // of the trees whose keys were replaced
	From      string            // where the keys come from; "" without keys
}

// Trusted gives the keys of --key and --policy, else those of the content if that is of the host
// that is asked.
func (o *Target) Trusted() (*Trust, error) {
	policy, err := o.Quorum()
	if err != nil {
		return nil, err
	}
	t, err := o.trusted(policy)
	if err == nil && policy != nil {
		t.Policy, t.Witnesses = policy, append(slices.Clip(t.Witnesses), policy.Witnesses...)
	}
	return t, err
}

func (o *Target) trusted(policy *tlog.Policy) (*Trust, error) {
	given := &Trust{From: "--key"}
	if policy != nil && len(policy.Keys) > 0 {
		given = &Trust{From: "--policy", Keys: slices.Clone(policy.Keys)}
	}
	for _, text := range strings.Fields(strings.Join(o.Keys, "\n")) {
		key, end, err := tlog.CutEnd(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--key %.100q: %w", text, err))
		}
		if given.Keys = append(given.Keys, key); end != nil {
			given.Ends = append(given.Ends, *end)
		}
	}
	if len(given.Keys) > 0 {
		return given, nil
	}
	file := filepath.Join(o.Content, "service.yaml")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Trust{}, nil
	}
	// To read the content as a whole may take longer than the check.
	var s site.Service
	if err == nil {
		err = yaml.Load(text, &s)
	}
	if err != nil {
		return nil, cli.Unusable("read the keys of the log in %s: %w (fix it, or give them with --key)", file, err)
	}
	if len(s.Log.Keys) == 0 || o.URL != "" && !o.asks(&s) {
		return &Trust{}, nil
	}
	ends, err := o.ends(s.Log.Keys)
	return &Trust{Keys: s.Log.Keys, Witnesses: s.Log.Witnesses, Ends: ends, From: o.Content}, err
}

func (o *Target) ends(keys []string) (ends []tlog.Checkpoint, err error) {
	files, _ := filepath.Glob(filepath.Join(o.Content, "log", "*.checkpoint"))
	last := map[string]tlog.Checkpoint{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if c, err := tlog.Open(text, keys[:len(keys)-1], nil); err == nil && c.Size > last[c.Origin].Size {
			last[c.Origin] = *c
		}
	}
	return slices.Collect(maps.Values(last)), nil
}

// asks reports whether the service that is asked is that of a content: by its name, or on this
// machine.
func (o *Target) asks(s *site.Service) bool {
	address, err := url.Parse(o.URL)
	if err != nil {
		return false
	}
	host := strings.ToLower(address.Hostname())
	if o.Host != "" {
		host = strings.ToLower(o.Host)
	} else if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return host == s.CanonicalHost || host == s.ApexHost || slices.Contains(s.PreviewHosts, host)
}

// Service reads from the service that --url names. where is its address.
func (o *Target) Service(ctx context.Context) (read tlog.Source, where string, err error) {
	s, err := live.New(o.URL)
	if err != nil {
		return nil, "", cli.Usage(err)
	}
	s.Host = o.Host
	return func(path string) ([]byte, error) { return s.File(ctx, path) }, s.String(), nil
}

// Folder reads from a folder of documents.
func Folder(folder string) tlog.Source {
	return func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, filepath.FromSlash(path))) }
}

// List lists the files of the log in a folder of documents.
func List(folder string) func() ([]string, error) {
	return func() (paths []string, err error) {
		err = fs.WalkDir(os.DirFS(folder), strings.TrimPrefix(tlog.Folder, "/"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				paths = append(paths, "/"+path)
			}
			return err
		})
		return paths, err
	}
}

// WarnTrusted says that keys are trusted because the service itself publishes them.
func WarnTrusted(t *cli.Terminal, keys []string) {
	for _, key := range keys {
		t.Warnf("the key %s is taken on trust, as the service itself publishes it "+
			"(compare it with what others have, and give it with --key)", key)
	}
}

// HintKeys says what to do about a checkpoint that no trusted key has signed.
func HintKeys(err error) error {
	if errors.Is(err, tlog.ErrUnknownKey) {
		return fmt.Errorf("%w (each tree has a key of its own: give all that you trust with --key)", err)
	}
	return err
}
