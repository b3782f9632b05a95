package report

// FlameFrames are the frames that rows refer to by their places, in columns: Name, File, Line, Package and Origin have an entry for each
// frame. Thousands of frames share a few hundred files and packages, so those are listed once.
type FlameFrames struct {
	Name     []string `json:"name"`    // as a graph shows it: with a line where lines are told apart
	File     []int32  `json:"file"`    // of the frame, or else of the function: a place in Files, or -1 where it is not known
	Line     []int64  `json:"line"`    // there
	Package  []int32  `json:"package"` // of the function: a place in Packages, or -1
	Origin   []int32  `json:"origin"`  // a place in Origins, or -1
	Files    []string `json:"files"`
	Packages []string `json:"packages"`
	Origins  []Origin `json:"origins"`
}

// A FlameFrame is one of them.
type FlameFrame struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`
	Line    int64  `json:"line,omitempty"`
	Package string `json:"package,omitempty"`
	Origin  Origin `json:"origin,omitempty"`
}

// A FrameList puts frames in columns.
type FrameList struct {
	FlameFrames
	files, packages map[string]int32 // places
	origins         map[Origin]int32
}

// NewFrameList returns a list without frames. In JSON, its columns are lists and not null.
func NewFrameList() *FrameList {
	return &FrameList{
		FlameFrames{
			Name: []string{}, File: []int32{}, Line: []int64{}, Package: []int32{}, Origin: []int32{},
			Files: []string{}, Packages: []string{}, Origins: []Origin{},
		},
		make(map[string]int32), make(map[string]int32), make(map[Origin]int32),
	}
}

// Add adds a frame, and returns its place.
func (l *FrameList) Add(f FlameFrame) int32 {
	l.Name = append(l.Name, f.Name)
	l.Line = append(l.Line, f.Line)
	l.File = append(l.File, placeIn(&l.Files, l.files, f.File))
	l.Package = append(l.Package, placeIn(&l.Packages, l.packages, f.Package))
	l.Origin = append(l.Origin, placeIn(&l.Origins, l.origins, f.Origin))
	return int32(len(l.Name) - 1)
}

// placeIn returns where text is in a list, which gets it where it does not have it. The empty text is nowhere.
func placeIn[T ~string](list *[]T, places map[T]int32, text T) int32 {
	if text == "" {
		return -1
	}
	at, ok := places[text]
	if !ok {
		at = int32(len(*list))
		places[text] = at
		*list = append(*list, text)
	}
	return at
}
