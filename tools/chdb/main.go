// Program chdb is a ClickHouse server for tests on one machine: the engine of ClickHouse, as the chdb project packs it in a shared
// library, behind so much of ClickHouse's HTTP interface as clients need.
//
//	chdb -fetch                          get the engine: 167 MB from npm, once
//	chdb -data DIR -listen 127.0.0.1:0   serve; the first line that it writes is its address
//
// It is a process of its own so that tests can kill it, and so that the engine can't take the tests with it.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("chdb: ")
	data := flag.String("data", "", "folder for the data")
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	only := flag.Bool("fetch", false, "get the engine and end")
	flag.Parse()
	lib, err := library()
	if err != nil {
		log.Fatal(err)
	}
	if *only {
		fmt.Println(lib)
		return
	}
	if *data == "" {
		log.Fatal("-data is missing")
	}
	if err := os.MkdirAll(*data, 0o755); err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	e, err := open(lib, *data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, &server{engine: e}))
}
