package prove

import (
	"strings"
	"sync"
	"unicode"
)

// samples are what people put into a field of a name: what code that checks its input is most likely to accept.
var samples = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"address": "1 Main St", "age": "42", "amount": "9.99", "author": "Anna", "callback": "done", "category": "books", "city": "Berlin",
		"code": "A1", "color": "red", "colour": "red", "comment": "hello", "count": "3", "country": "DE", "currency": "EUR", "date": "2024-02-29",
		"day": "29", "domain": "example.com", "duration": "1h30m", "email": "anna@example.com", "enabled": "true", "end": "2024-03-01",
		"file": "a.txt", "filename": "a.txt", "filter": "a", "format": "json", "from": "2024-02-29", "height": "20", "host": "example.com",
		"hour": "12", "id": "1", "index": "1", "ip": "192.0.2.1", "key": "key", "lang": "en", "language": "en", "lat": "52.5", "len": "8",
		"length": "8", "limit": "10", "locale": "en-US", "lon": "13.4", "max": "10", "message": "hello", "min": "1", "minute": "30", "mode": "fast",
		"month": "2", "n": "3", "name": "Anna", "number": "7", "offset": "10", "order": "desc", "page": "2", "password": "secret",
		"path": "/a/b", "phone": "+49 30 123456", "port": "8080", "price": "9.99", "q": "hello", "query": "hello", "sku": "A-1", "search": "hello",
		"size": "10", "sort": "name", "start": "2024-02-29", "state": "open", "status": "open", "tag": "go", "tags": "go,web", "text": "hello",
		"time": "12:30", "timeout": "5s", "timestamp": "2024-02-29T12:30:00Z", "title": "Hello", "to": "2024-03-01", "token": "abc123",
		"type": "text", "unit": "km", "uri": "https://example.com/", "url": "https://example.com/", "user": "anna", "username": "anna",
		"uuid": "123e4567-e89b-12d3-a456-426614174000", "value": "5", "version": "1.2.3", "width": "30", "year": "2024", "zip": "10115",
	}
})

// sampleFor returns what people put into a field, by the last word of its name: of shirtColor, shirt_color and shirt-color
// that is color. It is "" when nothing is known about it.
func sampleFor(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		return ""
	}
	last := words[len(words)-1]
	if s := samples()[strings.ToLower(last)]; s != "" {
		return s
	}
	if i := strings.LastIndexFunc(last, unicode.IsUpper); i > 0 {
		return samples()[strings.ToLower(last[i:])]
	}
	return ""
}
