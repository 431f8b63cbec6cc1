package litefile

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Files lists the files that hold a database: the file itself and its log, if there is one.
func Files(tree fs.FS, name string) []string {
	names := []string{name}
	if _, err := fs.Stat(tree, name+"-wal"); err == nil {
		names = append(names, name+"-wal")
	}
	return names
}

// Columns returns the names of a table's columns; none if the table does not exist.
func Columns(db *sql.DB, table string) (map[string]bool, error) {
	rows, err := db.Query("select name from pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is that of rows.Err
	columns := make(map[string]bool)
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns[name] = true
	}
	return columns, rows.Err()
}

// ColumnsExcept returns the columns of a table for a select, sorted, without those given.
func ColumnsExcept(db *sql.DB, table string, without ...string) (string, error) {
	has, err := Columns(db, table)
	if err != nil {
		return "", err
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if !slices.Contains(without, name) {
			list = append(list, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
		}
	}
	return strings.Join(list, ", "), nil
}

// Check fails with ErrUnsupported if a table lacks one of the columns given, naming the
// version of the schema and the version of the program whose schema is known.
func Check(db *sql.DB, tables map[string][]string, known string) error {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		has, err := Columns(db, table)
		if err != nil {
			return err
		}
		for _, column := range tables[table] {
			if !has[column] {
				var version int64
				if err := db.QueryRow("pragma user_version").Scan(&version); err != nil {
					return err
				}
				return fmt.Errorf("%w: its schema (version %d) has no %s.%s; firn reads the schema of %s", firn.ErrUnsupported, version, table, column, known)
			}
		}
	}
	return nil
}

// Object returns the first row of a query as a JSON object with a member for each column
// that is not null, in the order of the columns; null if there is no row. Text and blobs
// that are not text become base64.
func Object(db *sql.DB, query string, args ...any) (string, error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close() // its error is that of rows.Err
	if !rows.Next() {
		return "null", rows.Err()
	}
	object, err := RowObject(rows)
	return string(object), err
}

// RowObject returns the current row as in [Object].
func RowObject(rows *sql.Rows) ([]byte, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	object := []byte{'{'}
	for i, name := range names {
		if values[i] == nil {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = appendValue(append(rawjson.AppendString(object, name), ':'), values[i])
	}
	return append(object, '}'), nil
}

// appendValue appends a value of a row as JSON.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		if text := strconv.FormatFloat(v, 'g', -1, 64); !strings.ContainsAny(text, "IN") {
			return append(dst, text...)
		}
	case bool:
		return strconv.AppendBool(dst, v)
	case time.Time:
		return rawjson.AppendString(dst, v.UTC().Format(time.RFC3339Nano))
	case string:
		return appendText(dst, v)
	case []byte:
		return appendText(dst, string(v))
	}
	return rawjson.AppendString(dst, fmt.Sprint(value))
}

// appendText appends a text, or the base64 of one that is none.
func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return rawjson.AppendString(dst, "base64:"+base64.StdEncoding.EncodeToString([]byte(s)))
	}
	return rawjson.AppendString(dst, s)
}
