package profiletest

import (
	"fmt"
	"strings"
)

// A layer is a part of the program. Calls mostly lead from one layer into the same or the next.
type layer int

const (
	own layer = iota
	deps
	std
	layers
)

// A pkg is a package of the program.
type pkg struct {
	symbol string // what its function names begin with
	dir    string // where its files are
	types  []string
	files  []file
	used   map[string]bool
	last   string // the function named last, which a closure may belong to
	nested int    // closures of last
	funcs  []uint32
}

// A file is a source file and how far it is filled.
type file struct {
	name string
	line int
}

const (
	goroot    = "/usr/local/go/src/"
	modcache  = "/home/ci/go/pkg/mod/"
	ownModule = "example.com/shop"
	ownDir    = "/home/ci/shop/"
)

const stdPackages = `
archive/tar archive/zip bufio bytes compress/flate compress/gzip compress/zlib container/heap container/list context
crypto crypto/aes crypto/cipher crypto/ecdh crypto/ecdsa crypto/hmac crypto/internal/fips140/aes/gcm
crypto/internal/fips140/bigmod crypto/internal/fips140/nistec crypto/internal/fips140/sha256 crypto/rand crypto/rsa
crypto/sha256 crypto/tls crypto/x509 database/sql database/sql/driver encoding/base64 encoding/binary encoding/csv
encoding/hex encoding/json encoding/pem encoding/xml errors expvar fmt hash/crc32 hash/fnv html html/template
internal/bytealg internal/poll internal/reflectlite internal/runtime/maps internal/sync io io/fs log log/slog maps
math/big math/rand/v2 mime mime/multipart mime/quotedprintable net net/http net/http/httptrace net/http/httputil
net/http/internal net/mail net/netip net/smtp net/textproto net/url os os/exec path path/filepath reflect regexp
regexp/syntax runtime runtime/debug runtime/metrics runtime/pprof slices sort strconv strings sync sync/atomic syscall
text/tabwriter text/template text/template/parse time unicode/utf8 unique vendor/golang.org/x/net/http/httpguts
vendor/golang.org/x/net/http2/hpack vendor/golang.org/x/crypto/chacha20poly1305`

// A line is a module, its version and the packages in it.
const modules = `
cloud.google.com/go/storage v1.50.0 . internal internal/apiv2
github.com/aws/aws-sdk-go-v2 v1.36.1 aws aws/middleware aws/retry aws/signer/v4 aws/transport/http
github.com/aws/smithy-go v1.22.2 . encoding/httpbinding encoding/xml middleware transport/http
github.com/cespare/xxhash/v2 v2.3.0 .
github.com/dgraph-io/ristretto/v2 v2.1.0 . z
github.com/go-chi/chi/v5 v5.2.1 . middleware
github.com/go-redis/redis/v8 v8.11.5 . internal/pool internal/proto
github.com/gogo/protobuf v1.3.2 proto types
github.com/golang-jwt/jwt/v5 v5.2.1 .
github.com/google/uuid v1.6.0 .
github.com/gorilla/websocket v1.5.3 .
github.com/hashicorp/golang-lru/v2 v2.0.7 . internal simplelru
github.com/jackc/pgx/v5 v5.7.2 . internal/iobufpool pgconn pgproto3 pgtype pgxpool
github.com/json-iterator/go v1.1.12 .
github.com/klauspost/compress v1.17.11 flate gzip huff0 s2 zstd
github.com/mailru/easyjson v0.9.0 jlexer jwriter
github.com/nats-io/nats.go v1.39.0 . jetstream
github.com/prometheus/client_golang v1.20.5 prometheus prometheus/internal prometheus/promhttp
github.com/prometheus/common v0.62.0 expfmt model
github.com/rs/zerolog v1.33.0 . internal/json
github.com/segmentio/kafka-go v0.4.47 . compress protocol protocol/fetch protocol/produce
github.com/shopspring/decimal v1.4.0 .
github.com/spf13/cobra v1.9.1 .
github.com/spf13/viper v1.19.0 . internal/encoding
github.com/twmb/murmur3 v1.1.8 .
github.com/valyala/fasthttp v1.58.0 . fasthttputil
github.com/vmihailenco/msgpack/v5 v5.4.1 . msgpcode
go.mongodb.org/mongo-driver v1.17.2 bson bson/bsoncodec bson/bsonrw mongo x/mongo/driver x/mongo/driver/topology
go.opentelemetry.io/otel v1.34.0 . attribute baggage internal/global propagation
go.opentelemetry.io/otel/sdk v1.34.0 resource trace
go.uber.org/atomic v1.11.0 .
go.uber.org/zap v1.27.0 . buffer internal/bufferpool zapcore
golang.org/x/crypto v0.32.0 bcrypt blowfish chacha20
golang.org/x/net v0.34.0 http/httpguts http2 http2/hpack idna trace
golang.org/x/oauth2 v0.25.0 . internal
golang.org/x/sync v0.10.0 errgroup semaphore singleflight
golang.org/x/text v0.21.0 transform unicode/norm
google.golang.org/grpc v1.70.0 . internal/balancerload internal/binarylog internal/transport mem metadata stats status
google.golang.org/protobuf v1.36.4 encoding/protowire internal/encoding/tag internal/impl proto reflect/protoreflect
gopkg.in/yaml.v3 v3.0.1 .`

const (
	ownAreas = "account auth billing cart catalog checkout coupon currency fraud inventory invoice ledger mail media order " +
		"payment price rating recommend refund report review search session shipping stock tax tenant user warehouse"
	ownParts = "api store domain"

	verbs = "accept add apply append build cache check clear clone close collect commit compute convert copy create decode " +
		"delete dispatch drain emit encode ensure evict expand fetch fill filter find flush format get grow handle hash init " +
		"insert load lock lookup make map match merge move next normalize observe open parse peek pick poll push put quote " +
		"read record refresh release remove render replace reset resolve resume retry route run scan seek select send " +
		"serve set shift sign skip sort split start step stop store sum sync take trim try update validate verify visit " +
		"wait walk write"
	nouns = "Address Arena Batch Block Body Bucket Buffer Bytes Cell Chunk Client Column Command Cond Config Conn Context " +
		"Cookie Cursor Deadline Delta Digest Entry Error Event Field File Filter Flag Frame Graph Group Handle Header Index " +
		"Item Iterator Job Key Label Lease Level Limit Line List Message Meta Method Metric Name Node Number Object Offset " +
		"Option Order Packet Page Param Part Path Payload Peer Pending Plan Pool Price Query Queue Range Rate Reader Record " +
		"Ref Request Response Result Row Rule Scope Segment Series Session Slot Span State Stats Status Stream String " +
		"Struct Table Tag Task Text Timer Token Total Trace Tree Tuple Type Union Unit Value Version View Window Word Writer"
)

// packages returns the packages of the program by layer.
func packages() [layers][]*pkg {
	var all [layers][]*pkg
	add := func(l layer, symbol, dir string) {
		all[l] = append(all[l], &pkg{symbol: symbol, dir: dir, used: map[string]bool{}})
	}
	for p := range strings.FieldsSeq(stdPackages) {
		add(std, p, goroot+p)
	}
	for m := range strings.Lines(strings.TrimSpace(modules)) {
		f := strings.Fields(m)
		for _, sub := range f[2:] {
			path, dir := f[0], modcache+f[0]+"@"+f[1]
			if sub != "." {
				path, dir = path+"/"+sub, dir+"/"+sub
			}
			add(deps, symbolPrefix(path), dir)
		}
	}
	add(own, "main", ownDir+"cmd/shop")
	for area := range strings.FieldsSeq(ownAreas) {
		dir := "internal/" + area
		add(own, ownModule+"/"+dir, ownDir+dir)
		for part := range strings.FieldsSeq(ownParts) {
			add(own, ownModule+"/"+dir+"/"+part, ownDir+dir+"/"+part)
		}
	}
	return all
}

// symbolPrefix returns a package path as the linker spells it: dots after the last slash are escaped.
func symbolPrefix(path string) string {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i] + strings.ReplaceAll(path[i:], ".", "%2e")
}

// A namer makes up names for functions.
type namer struct {
	rnd   random
	verbs []string
	nouns []string
}

func newNamer(seed uint64) *namer {
	return &namer{rnd: random(mix(seed ^ 0x6e616d65)), verbs: strings.Fields(verbs), nouns: strings.Fields(nouns)}
}

func (n *namer) noun() string { return n.nouns[n.rnd.below(len(n.nouns))] }

func (n *namer) verb() string {
	v := n.verbs[n.rnd.below(len(n.verbs))]
	if n.rnd.percent(50) {
		return strings.ToUpper(v[:1]) + v[1:]
	}
	return v
}

// function names a new function of p.
func (n *namer) function(p *pkg) string {
	if p.last != "" && p.nested < 4 && n.rnd.percent(14) {
		p.nested++
		switch n.rnd.below(8) {
		case 0:
			return fmt.Sprintf("%s.gowrap%d", p.last, p.nested)
		case 1:
			return fmt.Sprintf("%s-range%d", p.last, p.nested)
		case 2:
			return fmt.Sprintf("%s.func%d.1", p.last, p.nested)
		}
		return fmt.Sprintf("%s.func%d", p.last, p.nested)
	}
	name := n.verb() + n.noun()
	switch r := n.rnd.below(100); {
	case r < 45:
		name = "(*" + n.typ(p) + ")." + name
	case r < 53:
		name = n.typ(p) + "." + name
	case r < 57:
		name = "(*" + n.typ(p) + "[...])." + name
	case r < 62:
		name += "[...]"
	}
	for p.used[name] {
		name += n.noun()
	}
	p.used[name] = true
	p.last, p.nested = p.symbol+"."+name, 0
	return p.last
}

// typ picks a type of p, which sometimes is a new one.
func (n *namer) typ(p *pkg) string {
	if len(p.types) < 2 || len(p.types) < 12 && n.rnd.percent(15) {
		t := n.noun()
		if n.rnd.percent(60) {
			t = strings.ToLower(t[:1]) + t[1:] + n.noun()
		}
		p.types = append(p.types, t)
	}
	return p.types[n.rnd.below(len(p.types))]
}

// place puts a function of so many lines in a file of p and returns the file and the first line.
func (n *namer) place(p *pkg, lines int) (name string, start int) {
	last := len(p.files) - 1
	if last < 0 || p.files[last].line > 1200 {
		base := strings.ToLower(n.noun())
		if last >= 0 {
			base = fmt.Sprintf("%s_%s", base, strings.ToLower(n.noun()))
		}
		p.files = append(p.files, file{name: fmt.Sprintf("%s/%s.go", p.dir, base), line: 20 + n.rnd.below(40)})
		last++
	}
	f := &p.files[last]
	start = f.line
	f.line += lines + 2 + n.rnd.below(8)
	return f.name, start
}
