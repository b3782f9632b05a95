package prove

import "context"

func (r *run) checks(ctx context.Context, pairs []*pair) error { return nil }
