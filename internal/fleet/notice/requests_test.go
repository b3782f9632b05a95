package notice

import "testing"

func TestServes(t *testing.T) {
	for _, test := range []struct {
		function, handler string
		want              bool
	}{
		{"example.com/shop.(*Server).orders", "orders", true},
		{"example.com/shop.(*Server).orders-fm", "orders", true},
		{"example.com/shop.(*Server).orders", "example.com/shop.(*Server).orders", true},
		{"example.com/shop.(*Server).GetOrder", "/shop.Orders/GetOrder", true},
		{"example.com/shop.(*Server).GetOrder", "Order", false},
		{"main.orders", "/orders", true},
		{"main.orders", "/orders/", false},
		{"main.orders", "", false},
		{"main.orders", "(requests)", false},
	} {
		if got := serves(test.function, test.handler); got != test.want {
			t.Errorf("%s serves %s: %v", test.function, test.handler, got)
		}
	}
}
