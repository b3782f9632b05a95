//go:build nightly

package clickhouse

import (
	"context"
	"reflect"
	"strings"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/hone-perf/hone/internal/store"
)

// A driverClient is a client by the driver that ClickHouse's makers keep. Ours must do the same.
type driverClient struct {
	driver.Conn
	database string
}

func (c *driverClient) close() { c.Conn.Close() }

func (c *driverClient) exec(ctx context.Context, statement string) error {
	return c.Exec(ctx, statement)
}

func settings(of map[string]string, more ...string) ch.QueryOption {
	s := ch.Settings{}
	for k, v := range of {
		s[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	return ch.WithSettings(s)
}

func (c *driverClient) insert(ctx context.Context, table, token string, columns []column) error {
	if rowsOf(columns[0].values) == 0 {
		return nil
	}
	var names []string
	var types []ch.ColumnNameAndType
	for _, col := range columns {
		names = append(names, col.name)
		types = append(types, ch.ColumnNameAndType{Name: col.name, Type: map[string]string{
			"[]string": "String", "[]uint8": "UInt8", "[]uint64": "UInt64", "[]int64": "Int64",
			"[][]string": "Array(String)", "[][]uint64": "Array(UInt64)", "[][]int64": "Array(Int64)",
		}[reflect.TypeOf(col.values).String()]})
	}
	ctx = ch.Context(ctx, settings(insertSettings, "insert_deduplication_token", token), ch.WithColumnNamesAndTypes(types))
	b, err := c.PrepareBatch(ctx, "INSERT INTO "+c.database+"."+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return err
	}
	for i, col := range columns {
		if err := b.Column(i).Append(col.values); err != nil {
			return err
		}
	}
	return b.Send()
}

func (c *driverClient) query(ctx context.Context, query string, into ...any) error {
	rows, err := c.Query(ch.Context(ctx, settings(querySettings)), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, len(into))
		for i, to := range into {
			row[i] = reflect.New(reflect.TypeOf(to).Elem().Elem()).Interface()
		}
		if err := rows.Scan(row...); err != nil {
			return err
		}
		for i, to := range into {
			column := reflect.ValueOf(to).Elem()
			column.Set(reflect.Append(column, reflect.ValueOf(row[i]).Elem()))
		}
	}
	return rows.Err()
}

// TestDriver writes and reads by the driver what is read and written by our own client.
func TestDriver(t *testing.T) {
	f, now := fleet()
	all := f.All()
	at := anyServer(t).address
	own := openAt(t, at, newDatabase(), now)
	defer own.Close()
	open := func(database string) *Store {
		conn, err := ch.Open(&ch.Options{Protocol: ch.HTTP, Addr: []string{at}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := ParseAddress("clickhouse://" + at + "/" + database + "?keep=0&hours=0&days=0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := openWith(t.Context(), &driverClient{conn, database}, a, Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	drivers := open(own.database)
	defer drivers.Close()
	add(t, own, all[:len(all)/2])
	for _, o := range add(t, drivers, all[:len(all)/2]) {
		if !o.Repeated {
			t.Fatal("the driver does not find what our client wrote")
		}
	}
	add(t, drivers, all[len(all)/2:])
	for _, s := range []*Store{own, drivers} {
		exactly(t, s, all, now)
	}
	q := store.Query{Tenant: "main", From: f.Start.Add(-1), To: now()}
	a, _, err := own.Entries(t.Context(), q, 1000)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := drivers.Entries(t.Context(), q, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != len(all) || !reflect.DeepEqual(a, b) {
		t.Errorf("%d entries by our client, %d by the driver, want %d that are equal", len(a), len(b), len(all))
	}
}
