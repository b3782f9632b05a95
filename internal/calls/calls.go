// Package calls is the engine of questions about profiles: what costs how much, and who calls it.
//
// Apply takes the steps of a query, GroupBy puts functions together into files, packages, modules or values of a label. A FrameTable has the
// frames of the result, as fine as its Detail. Then
//
//   - a Builder adds up what frames cost, and their calls as a Graph, of which Trimmed keeps what is worth to be shown;
//   - a Tree keeps the contexts of calls, as far as somebody looks.
//
// It makes no reports: the views in package view do, each from what it needs of this.
package calls
