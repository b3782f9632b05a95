package patch

import "strings"

// maxAlign bounds the lines of a block times those in its place, for which fine has time.
const maxAlign = 1 << 20

// fine leaves unchanged lines alone that a unified diff removes and adds again. Package diff keeps lines only between those that are in each text
// once, so that the braces and error checks between two changed lines are shown as changed, too.
func fine(text string) string {
	var out strings.Builder
	var removed, added []string
	flush := func() {
		align(&out, removed, added)
		removed, added = nil, nil
	}
	body := false // of a hunk
	for l := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(l, "@@"):
			flush()
			body = true
			out.WriteString(l)
		case body && l[0] == '-':
			if len(added) > 0 {
				flush()
			}
			removed = append(removed, l[1:])
		case body && l[0] == '+':
			added = append(added, l[1:])
		case l[0] == '\\': // it is about the line before, which has to stay as it is
			write(&out, '-', removed)
			write(&out, '+', added)
			removed, added = nil, nil
			out.WriteString(l)
		default:
			flush()
			out.WriteString(l)
		}
	}
	flush()
	return out.String()
}

// align writes lines that are replaced by others, with those between them that both have.
func align(out *strings.Builder, removed, added []string) {
	if len(removed) == 0 || len(added) == 0 || len(removed)*len(added) > maxAlign {
		write(out, '-', removed)
		write(out, '+', added)
		return
	}
	// most[i][j] is how many lines removed[i:] and added[j:] can have in common.
	most := make([][]int, len(removed)+1)
	for i := range most {
		most[i] = make([]int, len(added)+1)
	}
	for i := len(removed) - 1; i >= 0; i-- {
		for j := len(added) - 1; j >= 0; j-- {
			if removed[i] == added[j] {
				most[i][j] = most[i+1][j+1] + 1
			} else {
				most[i][j] = max(most[i+1][j], most[i][j+1])
			}
		}
	}
	i, j, k := 0, 0, 0 // added[k:j] was not written yet: what is removed comes first
	for i < len(removed) && j < len(added) {
		switch {
		case removed[i] == added[j]:
			write(out, '+', added[k:j])
			write(out, ' ', removed[i:i+1])
			i, j, k = i+1, j+1, j+1
		case most[i+1][j] >= most[i][j+1]:
			write(out, '-', removed[i:i+1])
			i++
		default:
			j++
		}
	}
	write(out, '-', removed[i:])
	write(out, '+', added[k:])
}

func write(out *strings.Builder, sign byte, lines []string) {
	for _, l := range lines {
		out.WriteByte(sign)
		out.WriteString(l)
	}
}
