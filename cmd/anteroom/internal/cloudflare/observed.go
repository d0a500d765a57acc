package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"anteroom/edge/store/records"
)

var errNoDataset = fmt.Errorf("the environment binds no dataset of Analytics Engine as %s in wrangler.toml, so %w",
	datasetBinding, records.ErrNotObserved)

// Observed gives what was observed on the days from since to through, YYYY-MM-DD in UTC, both
// included, in the order of days, clients and kinds. "" leaves an end open. Analytics Engine keeps
// three months, and may keep a sample: the numbers are estimates then.
func (s *Store) Observed(ctx context.Context, since, through string) ([]records.Observation, error) {
	if s.dataset == "" {
		return nil, errNoDataset
	}
	var conditions []string
	bound := func(day, comparison string, shift int) error {
		if day == "" {
			return nil
		}
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return fmt.Errorf("read what was observed: %q is not a day (give YYYY-MM-DD)", day)
		}
		day = at.AddDate(0, 0, shift).Format(time.DateOnly)
		conditions = append(conditions, fmt.Sprintf("timestamp %s toDateTime('%s 00:00:00')", comparison, day))
		return nil
	}
	if err := errors.Join(bound(since, ">=", 0), bound(through, "<", 1)); err != nil {
		return nil, err
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	var answer struct {
		Data []struct {
			Day, Client, Kind *string
			N                 json.Number // a text or a number
		} `json:"data"`
		Rows *int `json:"rows"`
	}
	const columns = "SELECT formatDateTime(timestamp, '%Y-%m-%d') AS day, blob1 AS client, blob2 AS kind, SUM(_sample_interval) AS n"
	query := columns + " FROM " + s.dataset + where + " GROUP BY day, client, kind ORDER BY day, client, kind FORMAT JSON"
	if err := s.client.ask(ctx, http.MethodPost, s.client.path("analytics_engine/sql"), query, &answer); err != nil {
		return nil, s.client.explain("ask Analytics Engine", permissionAnalytics, err)
	}
	if answer.Rows == nil || *answer.Rows != len(answer.Data) {
		return nil, errors.New("read what was observed: the answer of Analytics Engine lacks rows (ask for fewer days)")
	}
	all := make([]records.Observation, len(answer.Data))
	for i, row := range answer.Data {
		n, err := row.N.Int64()
		if row.Day == nil || row.Client == nil || row.Kind == nil || err != nil {
			return nil, fmt.Errorf("read what was observed: row %d of the answer is not three texts and a number", i+1)
		}
		all[i] = records.Observation{Day: *row.Day, Client: *row.Client, Kind: *row.Kind, N: n}
	}
	return all, nil
}
