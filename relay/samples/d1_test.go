package samples_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// newD1 is a database like the Worker's, behind HTTP. It outlives the Worker.
func newD1(t *testing.T) string {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "d1.db")+"?_synchronous=FULL")
	must(t, err)
	db.SetMaxOpenConns(1)
	schema, err := os.ReadFile("worker/schema.sql")
	must(t, err)
	_, err = db.Exec(string(schema))
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := query(db, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		must(t, db.Close())
	})
	return server.URL
}

// result is what D1 tells of a statement.
type result struct {
	Rows    []map[string]any `json:"rows"`
	Changes int64            `json:"changes"`
}

func query(db *sql.DB, body io.Reader) (answer result, err error) {
	var asked struct {
		SQL  string `json:"sql"`
		Args []any  `json:"args"`
	}
	d := json.NewDecoder(body)
	d.UseNumber()
	if err := d.Decode(&asked); err != nil {
		return result{}, err
	}
	for i, arg := range asked.Args {
		if n, ok := arg.(json.Number); ok {
			if asked.Args[i], err = n.Int64(); err != nil {
				return result{}, err
			}
		}
	}
	if !strings.HasPrefix(asked.SQL, "SELECT") {
		done, err := db.Exec(asked.SQL, asked.Args...)
		if err == nil {
			answer.Changes, err = done.RowsAffected()
		}
		return answer, err
	}
	rows, err := db.Query(asked.SQL, asked.Args...)
	if err != nil {
		return result{}, err
	}
	defer rows.Close()
	answer.Rows = []map[string]any{} // not null
	names, err := rows.Columns()
	for err == nil && rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
			if text, ok := values[i].([]byte); ok {
				row[name] = string(text)
			}
		}
		answer.Rows = append(answer.Rows, row)
	}
	return answer, errors.Join(err, rows.Err())
}
