package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/cloudflare"
)

// withDatabaseID gives the text of the file with another id of a database, and nothing else
// changed.
func (f *File) withDatabaseID(old, id string) ([]byte, error) {
	line := regexp.MustCompile(`(?m)^([^#\n]*\bdatabase_id\s*=\s*["'])` + regexp.QuoteMeta(old) + `(["'])`)
	if n := len(line.FindAllIndex(f.text, -1)); n != 1 {
		return nil, fmt.Errorf("write the id of the database into %s: the database_id %s stands there %d times (give each database a line of its own: database_id = \"…\")", f.path, old, n)
	}
	text := line.ReplaceAll(f.text, []byte("${1}"+id+"${2}"))
	if _, err := Parse(f.path, text); err != nil {
		return nil, err
	}
	return text, nil
}

// writeDatabaseID replaces the id of a database in the file, as it is by now.
func (f *File) writeDatabaseID(old, id string) error {
	text, err := os.ReadFile(f.path)
	if err == nil {
		f.text = text
		text, err = f.withDatabaseID(old, id)
	}
	if err == nil {
		err = disk.Replace(f.path, text)
	}
	if err != nil {
		return fmt.Errorf("the database has the id %s: %w (put it in the place of %s)", id, err, old)
	}
	f.text = text
	return nil
}

// databaseStep plans to find or make the database.
func (r *Run) databaseStep() *work {
	db := r.Plan.Database
	w := &work{Step: Step{Name: "database", Status: Already, Text: fmt.Sprintf("D1 database %s is %s", db.Name, db.ID)}}
	file := filepath.Base(r.Plan.source.File.path)
	switch {
	case !strings.HasPrefix(db.ID, cloudflare.PlaceholderID):
	case r.foundID != "":
		w.Status, w.Text = Would, fmt.Sprintf("write the id of D1 database %s, %s, into %s", db.Name, r.foundID, file)
		w.do = func(context.Context) (string, error) {
			return fmt.Sprintf("wrote the id of D1 database %s, %s, into %s", db.Name, r.foundID, file), r.keepID(r.foundID)
		}
	default:
		w.Status, w.Text = Would, fmt.Sprintf("make D1 database %s, and write its id into %s", db.Name, file)
		w.do = func(ctx context.Context) (string, error) {
			id, err := r.api().newDatabase(ctx, db.Name)
			if isUnsure(ctx, err) {
				if made, wrong := r.api().database(ctx, db.Name); wrong == nil && made != "" {
					id, err = made, nil // its answer was lost
				}
			}
			if err != nil {
				return "", err
			}
			r.changed = append(r.changed, "D1 database "+db.Name+" was made")
			return fmt.Sprintf("made D1 database %s, and wrote its id %s into %s", db.Name, id, file), r.keepID(id)
		}
	}
	return w
}

// keepID writes the id of the database into wrangler.toml and into the plan.
func (r *Run) keepID(id string) error {
	if err := r.Plan.source.File.writeDatabaseID(r.Plan.Database.ID, id); err != nil {
		return err
	}
	r.changed = append(r.changed, "the id of D1 database "+r.Plan.Database.Name+" was written into "+filepath.Base(r.Plan.source.File.path))
	r.Plan.setDatabaseID(id)
	return nil
}

// setDatabaseID puts the id of the database into the plan.
func (p *Plan) setDatabaseID(id string) {
	p.Database.ID = id
	for _, w := range p.Workers {
		for i := range w.Metadata.Bindings {
			if b := &w.Metadata.Bindings[i]; b.Type == "d1" {
				b.ID = id
			}
		}
	}
}

// migrationsStep plans to apply the migrations that the database lacks.
func (r *Run) migrationsStep() *work {
	w := &work{Step: Step{Name: "migrations", Status: Already, Text: fmt.Sprintf("the database has all %d", len(r.Plan.Migrations))}}
	if len(r.Plan.Missing) > 0 {
		w.Status, w.Text = Would, "apply "+strings.Join(r.Plan.Missing, ", ")
		w.do = func(ctx context.Context) (string, error) {
			applied := r.Plan.Missing
			for _, name := range applied {
				if err := r.migrate(ctx, name); err != nil {
					return "", err
				}
				r.changed = append(r.changed, "migration "+name+" was applied")
			}
			return "applied " + strings.Join(applied, ", "), nil
		}
	}
	return w
}

// migrate applies a migration together with its row in the table of migrations, as wrangler does:
// both are there, or neither.
func (r *Run) migrate(ctx context.Context, name string) error {
	text, err := migrations.Files.ReadFile(name)
	if err != nil {
		return err
	}
	p := cloudflare.Purpose{What: "apply migration " + name, Writes: true, Unsure: again}
	_, err = r.api().sql(ctx, p, r.databaseID(), migrationSQL(name, string(text)))
	if isUnsure(ctx, err) {
		if missing, wrong := r.missingMigrations(ctx); wrong == nil && !slices.Contains(missing, name) {
			return nil // its answer was lost
		}
	}
	return err
}

// migrationSQL is one transaction for a migration and its row.
func migrationSQL(name, text string) string {
	return migrations.CreateTable + ";\n" + text + "\nINSERT INTO " + migrations.Table + " (name) VALUES ('" + strings.ReplaceAll(name, "'", "''") + "');"
}
