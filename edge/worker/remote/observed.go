package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/store/records"
	"anteroom/edge/worker/cloudflare"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNoDataset is the error of Observed where nothing is observed.
var ErrNoDataset = errors.New("the environment binds no dataset of Analytics Engine as " + cloudflare.DatasetBinding +
	" in wrangler.toml, so nothing is observed")

// Observed gives what was observed on the days from since to through, YYYY-MM-DD in UTC, both
// included, in the order of days, clients and kinds. "" leaves an end open. Analytics Engine keeps
// three months, and may keep a sample: the numbers are estimates then. It does not bound the number
// of clients, which records.Bound does.
func (s *Store) Observed(ctx context.Context, since, through string) ([]records.Observation, error) {
	if s.dataset == "" {
		return nil, ErrNoDataset
	}
	var conditions []string
	for _, bound := range []struct {
		day, comparison string
		shift           int
	}{{since, ">=", 0}, {through, "<", 1}} {
		if bound.day == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, bound.day)
		if err != nil {
			return nil, fmt.Errorf("observed: %q is no day (give YYYY-MM-DD)", bound.day)
		}
		conditions = append(conditions, fmt.Sprintf("timestamp %s toDateTime('%s 00:00:00')", bound.comparison, day.AddDate(0, 0, bound.shift).Format(time.DateOnly)))
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	columns, rows, err := s.SQL(ctx, "SELECT formatDateTime(timestamp, '%Y-%m-%d') AS day, blob1 AS client, blob2 AS kind, SUM(_sample_interval) AS n"+
		" FROM "+s.dataset+where+" GROUP BY day, client, kind ORDER BY day, client, kind")
	if err != nil {
		return nil, err
	}
	if strings.Join(columns, " ") != "day client kind n" {
		return nil, fmt.Errorf("observed: the answer has the columns %q", columns)
	}
	observations := make([]records.Observation, len(rows))
	for i, row := range rows {
		day, isDay := row[0].(string)
		client, isClient := row[1].(string)
		kind, isKind := row[2].(string)
		n, isNumber := row[3].(int64)
		if !isDay || !isClient || !isKind || !isNumber {
			return nil, fmt.Errorf("observed: row %d of the answer is not three texts and a number", i+1)
		}
		observations[i] = records.Observation{Day: day, Client: client, Kind: kind, N: n}
	}
	return observations, nil
}

// SQL asks Analytics Engine. It gives the names of the columns, and rows of strings, int64s and
// nils. The query has no FORMAT of its own.
func (s *Store) SQL(ctx context.Context, query string) (columns []string, rows [][]any, err error) {
	p := cloudflare.Purpose{What: "ask Analytics Engine", Permission: permissionAnalytics}
	body, err := s.client.Call(ctx, p, func() (*http.Response, []byte, error) {
		// The API's client has no method for it.
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.client.Base.JoinPath("accounts", s.client.Account, "analytics_engine/sql").String(), strings.NewReader(query+" FORMAT JSON"))
		if err != nil {
			return nil, nil, err
		}
		request.Header.Set("Authorization", "Bearer "+s.client.Token)
		request.Header.Set("Content-Type", "text/plain")
		response, err := s.client.HTTP.Do(request)
		if err != nil {
			return nil, nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response, body, err
	})
	if err != nil {
		return nil, nil, err
	}
	if columns, rows, err = decodeAnalytics(body); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.What, err)
	}
	return columns, rows, nil
}

// decodeAnalytics reads an answer of Analytics Engine. It gives all rows, or an error.
func decodeAnalytics(body []byte) (columns []string, rows [][]any, err error) {
	var answer struct {
		Meta []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"meta"`
		Data      []map[string]jsontext.Value `json:"data"`
		Rows      *int64                      `json:"rows"`
		BeforeCut int64                       `json:"rows_before_limit_at_least"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data == nil || answer.Meta == nil {
		return nil, nil, cloudflare.ErrNoAnswer
	}
	if answer.Rows == nil || *answer.Rows != int64(len(answer.Data)) || answer.BeforeCut > *answer.Rows {
		return nil, nil, errors.New("the answer lacks rows (ask for fewer days)")
	}
	for _, column := range answer.Meta {
		columns = append(columns, column.Name)
	}
	for i, object := range answer.Data {
		row := make([]any, len(columns))
		for k, column := range answer.Meta {
			value, there := object[column.Name]
			if !there {
				return nil, nil, fmt.Errorf("row %d lacks column %q", i+1, column.Name)
			}
			// Integers of 64 bits are texts in this format.
			if row[k], err = decodeValue(value); err == nil && strings.Contains(column.Type, "Int") {
				if text, ok := row[k].(string); ok {
					row[k], err = strconv.ParseInt(text, 10, 64)
				}
			}
			if err != nil {
				return nil, nil, fmt.Errorf("row %d, column %q is not as Analytics Engine writes it", i+1, column.Name)
			}
		}
		rows = append(rows, row)
	}
	return columns, rows, nil
}
