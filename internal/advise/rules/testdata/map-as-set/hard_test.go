package main

func forget(v *visitor) { delete(v.wasThere, 3) }
