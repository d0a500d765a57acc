package remote

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anteroom/edge/worker/cloudflare"

	"github.com/BurntSushi/toml"
)

var (
	uuid        = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	datasetName = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_]*$`)
)

// target is an environment of wrangler.toml.
type target struct {
	environment       string
	databaseID        string
	databaseName      string
	dataset           string // "" where none is bound
	host              string
	configuredAccount string // "" where none is named
}

// wranglerEnvironment is what wrangler.toml says of an environment.
type wranglerEnvironment struct {
	AccountID string `toml:"account_id"`
	Route     any    `toml:"route"`
	Routes    []any  `toml:"routes"`
	Databases []struct {
		Binding string `toml:"binding"`
		Name    string `toml:"database_name"`
		ID      string `toml:"database_id"`
	} `toml:"d1_databases"`
	Datasets []struct {
		Binding string `toml:"binding"`
		Name    string `toml:"dataset"`
	} `toml:"analytics_engine_datasets"`
}

// readTarget reads an environment of the wrangler.toml at path. Its error lists all faults.
func readTarget(path, environment string) (target, error) {
	var config struct {
		wranglerEnvironment
		Environments map[string]wranglerEnvironment `toml:"env"`
	}
	if _, err := toml.DecodeFile(path, &config); errors.Is(err, os.ErrNotExist) {
		return target{}, fmt.Errorf("there is no %s (call this in the folder of wrangler.toml, or name the file)", path)
	} else if err != nil {
		return target{}, fmt.Errorf("read %s: %w", path, err)
	}
	file := filepath.Base(path)
	e, known := config.Environments[environment]
	if !known {
		return target{}, fmt.Errorf("%s has no environment %q (it has %s)", file, environment,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(config.Environments)), ", "), "none"))
	}

	t := target{environment: environment}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("environment %s of %s "+format, append([]any{environment, file}, args...)...))
	}
	bound := false
	for _, d := range e.Databases {
		if d.Binding != cloudflare.DatabaseBinding {
			continue
		}
		bound = true
		t.databaseID, t.databaseName = d.ID, d.Name
		switch {
		case strings.HasPrefix(d.ID, cloudflare.PlaceholderID):
			fault("has the placeholder %s as its database_id (anteroom deploy makes the database %s and writes its id there)", d.ID, d.Name)
		case !uuid.MatchString(d.ID):
			fault("has the database_id %q, which is no id of a database (wrangler d1 list prints them)", d.ID)
		}
		if d.Name == "" {
			fault("has no database_name for %s", cloudflare.DatabaseBinding)
		}
	}
	if !bound {
		fault("binds no D1 database as %s (name an environment that does)", cloudflare.DatabaseBinding)
	}
	for _, d := range e.Datasets {
		if d.Binding != cloudflare.DatasetBinding {
			continue
		}
		if t.dataset = d.Name; t.dataset == "" {
			t.dataset = d.Binding // as wrangler names it
		}
		if !datasetName.MatchString(t.dataset) {
			fault("binds the dataset %q, which is not letters, digits and _", t.dataset)
		}
	}
	// These two are inherited from the top, as wrangler does.
	if t.host = host(e); t.host == "" && e.Route == nil && e.Routes == nil {
		t.host = host(config.wranglerEnvironment)
	}
	account, err := cloudflare.ConfiguredAccount(cmp.Or(e.AccountID, config.AccountID))
	if err != nil {
		faults = append(faults, err)
	}
	t.configuredAccount = account
	return t, errors.Join(faults...)
}

// host is the first custom domain among the routes of an environment.
func host(e wranglerEnvironment) string {
	for _, route := range append(e.Routes, e.Route) {
		table, _ := route.(map[string]any)
		if table["custom_domain"] == true {
			pattern, _ := table["pattern"].(string)
			return pattern
		}
	}
	return ""
}
