// Package calls computes answers about profiles: what costs how much, and who calls it.
//
// Apply takes the steps of a query. GroupBy combines functions into files, packages, modules or the values of a label. A FrameTable has the
// frames of the result, at the level of its Detail. Then
//
//   - a Builder adds up the costs of frames, and their calls as a Graph; Trimmed keeps the part of the Graph that is worth showing;
//   - a Tree keeps the contexts of calls, as deep as somebody looks.
//
// This package makes no reports. The views in package profileview do.
package calls
