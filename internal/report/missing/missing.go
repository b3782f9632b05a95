// Package missing names the facts that a patch would need. A finding without a patch says which of them is missing: code can ask
// and count that, and package words of render makes a sentence of it.
package missing

import "fmt"

// A Fact is what a patch would rest on, and that is not so, or not known.
type Fact string

// What the package or the file rules out.
const (
	Dependency     Fact = "dependency"
	Vendored       Fact = "vendored"
	Generated      Fact = "generated"
	NotAsCompiled  Fact = "not-as-compiled"
	Cgo            Fact = "cgo"
	NoStartLine    Fact = "no-start-line"
	NewerFile      Fact = "newer-file"
	DoesNotApply   Fact = "does-not-apply"
	DoesNotCompile Fact = "does-not-compile"
	OtherMeaning   Fact = "other-meaning"
	SeveralFiles   Fact = "several-files"
	AnotherFile    Fact = "another-file"
	OlderGo        Fact = "older-go"
	BeforeVariable Fact = "before-variable"
)

// What is not a constant, or not the same each time.
const (
	ConstantFormat     Fact = "constant-format"
	ConstantSeparator  Fact = "constant-separator"
	ConstantSeparators Fact = "constant-separators"
	ConstantPattern    Fact = "constant-pattern"
	ConstantSplit      Fact = "constant-split"
	ConstantFold       Fact = "constant-fold"
	ConstantSettings   Fact = "constant-settings"
	SameEachCall       Fact = "same-each-call"
	SamePattern        Fact = "same-pattern"
	SameStrings        Fact = "same-strings"
	SameTemplate       Fact = "same-template"
	SameHeader         Fact = "same-header"
	SameNumber         Fact = "same-number"
)

// Who else has or uses something.
const (
	MayBeKept            Fact = "may-be-kept"
	MayHoldOn            Fact = "may-hold-on"
	ResultMayChange      Fact = "result-may-change"
	ResultOfMayChange    Fact = "result-of-may-change"
	MayBeChangedOrKept   Fact = "may-be-changed-or-kept"
	LiteralMayBeKept     Fact = "literal-may-be-kept"
	LiteralMayKeep       Fact = "literal-may-keep"
	LiteralReturned      Fact = "literal-returned"
	LiteralStored        Fact = "literal-stored"
	LiteralUsedOtherwise Fact = "literal-used-otherwise"
	ObjectsMayBeKept     Fact = "objects-may-be-kept"
	SliceMayBeKept       Fact = "slice-may-be-kept"
	ObjectsNeverDone     Fact = "objects-never-done"
	ReadersUnknown       Fact = "readers-unknown"
	OtherSignature       Fact = "other-signature"
	OtherSignatureOf     Fact = "other-signature-of"
	InterfaceElements    Fact = "interface-elements"
	OtherElements        Fact = "other-elements"
	OtherElementsOf      Fact = "other-elements-of"
	OtherPool            Fact = "other-pool"
	PoolNoVariable       Fact = "pool-no-variable"
	PoolUsedOtherwise    Fact = "pool-used-otherwise"
	PoolMakes            Fact = "pool-makes"
	PoolNotKept          Fact = "pool-not-kept"
	PoolPutTwice         Fact = "pool-put-twice"
	ReceiverMayDiffer    Fact = "receiver-may-differ"
	StatesElsewhere      Fact = "states-elsewhere"
	StatesUsedOtherwise  Fact = "states-used-otherwise"
	ListIsParameter      Fact = "list-is-parameter"
	ListIsParameterOf    Fact = "list-is-parameter-of"
	FieldUsedOtherwise   Fact = "field-used-otherwise"
	FieldNotAlwaysSet    Fact = "field-not-always-set"
	FieldSeen            Fact = "field-seen"
	FieldLeftOut         Fact = "field-left-out"
	NotPure              Fact = "not-pure"
	MayPanicUnused       Fact = "may-panic-unused"
	ObjectsElsewhere     Fact = "objects-elsewhere"
	ChangedBeforeRead    Fact = "changed-before-read"
	WriterSeenWhen       Fact = "writer-seen-when"
)

// Types.
const (
	OwnType           Fact = "own-type"
	OwnTypeAndString  Fact = "own-type-and-string"
	TypeAtRunTime     Fact = "type-at-run-time"
	TypesAtRunTime    Fact = "types-at-run-time"
	DifferentTypes    Fact = "different-types"
	UnlikeDeepEqual   Fact = "unlike-deep-equal"
	EvaluatedTwice    Fact = "evaluated-twice"
	NotANumber        Fact = "not-a-number"
	SizeByType        Fact = "size-by-type"
	OrderAtRunTime    Fact = "order-at-run-time"
	FieldsToSpell     Fact = "fields-to-spell"
	NoAppendOfSize    Fact = "no-append-of-size"
	ConstantMayNotFit Fact = "constant-may-not-fit"
	TwoResults        Fact = "two-results"
	ReaderOfOtherType Fact = "reader-of-other-type"
	NoTwin            Fact = "no-twin"
	NoWriteString     Fact = "no-write-string"
	BufferOnHeap      Fact = "buffer-on-heap"
)

// Formats and texts.
const (
	OnlyFmt               Fact = "only-fmt"
	ValueAtRunTime        Fact = "value-at-run-time"
	PrintsItself          Fact = "prints-itself"
	NotAsStrconv          Fact = "not-as-strconv"
	CallChangesBytes      Fact = "call-changes-bytes"
	FieldNeedsBytes       Fact = "field-needs-bytes"
	VerbUnknown           Fact = "verb-unknown"
	TooFewArguments       Fact = "too-few-arguments"
	TooManyArguments      Fact = "too-many-arguments"
	AllConstant           Fact = "all-constant"
	SameText              Fact = "same-text"
	SpacesBetween         Fact = "spaces-between"
	TooManyParts          Fact = "too-many-parts"
	NoStringOrNumber      Fact = "no-string-or-number"
	NotOnlyAppended       Fact = "not-only-appended"
	ResultNotOnlyAppended Fact = "result-not-only-appended"
	MayWriteToo           Fact = "may-write-too"
	NumberMayWriteToo     Fact = "number-may-write-too"
	NotOnlyAppendedBy     Fact = "not-only-appended-by"
	NoPlainFunction       Fact = "no-plain-function"
	CallsItself           Fact = "calls-itself"
	WriterIsNoVariable    Fact = "writer-is-no-variable"
	NoVariableToWrite     Fact = "no-variable-to-write"
	EvaluatedLater        Fact = "evaluated-later"
	LengthUnknown         Fact = "length-unknown"
	BodyLengthUnknown     Fact = "body-length-unknown"
	NotOnlyAdded          Fact = "not-only-added"
	NotOnlyAddedOrRead    Fact = "not-only-added-or-read"
	NotOnlyPadded         Fact = "not-only-padded"
	NotOnlyEscaped        Fact = "not-only-escaped"
	AnyLetterMatches      Fact = "any-letter-matches"
	WrittenInParts        Fact = "written-in-parts"
	SeenBeforeEnd         Fact = "seen-before-end"
	ChangedByAddress      Fact = "changed-by-address"
	NotBeforeLiteral      Fact = "not-before-literal"
	FoldsLetters          Fact = "folds-letters"
	FoldsText             Fact = "folds-text"
	NoPlainCall           Fact = "no-plain-call"
	PartsNeeded           Fact = "parts-needed"
	SecondPartMayPanic    Fact = "second-part-may-panic"
	MayOverlap            Fact = "may-overlap"
	NoPartVariable        Fact = "no-part-variable"
	NotABuilder           Fact = "not-a-builder"
	NotABuilderFor        Fact = "not-a-builder-for"
	NotABuilderAt         Fact = "not-a-builder-at"
	NotDeclaredEmpty      Fact = "not-declared-empty"
)

// Room and sizes.
const (
	CountUnknown     Fact = "count-unknown"
	ElementsUnknown  Fact = "elements-unknown"
	EntriesUnknown   Fact = "entries-unknown"
	ObjectsUnknown   Fact = "objects-unknown"
	CountMayBeMore   Fact = "count-may-be-more"
	CountMayDiffer   Fact = "count-may-differ"
	RoundsMayEnd     Fact = "rounds-may-end"
	LoopUses         Fact = "loop-uses"
	LoopRestarts     Fact = "loop-restarts"
	LoopMayEnd       Fact = "loop-may-end"
	HasRoom          Fact = "has-room"
	MayHaveRoom      Fact = "may-have-room"
	RoomShared       Fact = "room-shared"
	AppendedInHead   Fact = "appended-in-head"
	NoGrowBefore     Fact = "no-grow-before"
	GrowsOverLoops   Fact = "grows-over-loops"
	SendersUnknown   Fact = "senders-unknown"
	SendersToUnknown Fact = "senders-to-unknown"
	TooLittleRoom    Fact = "too-little-room"
	PoolTooSmall     Fact = "pool-too-small"
	RoundTooSmall    Fact = "round-too-small"
	MayHaveNoRound   Fact = "may-have-no-round"
	MayBeNegative    Fact = "may-be-negative"
	GrowsOverCalls   Fact = "grows-over-calls"
)

// What a loop or a function does in which order.
const (
	LabeledLoop        Fact = "labeled-loop"
	NameOrLabel        Fact = "name-or-label"
	AnotherName        Fact = "another-name"
	LoopInStatement    Fact = "loop-in-statement"
	LoopChangesKey     Fact = "loop-changes-key"
	OrderMatters       Fact = "order-matters"
	MayBeOther         Fact = "may-be-other"
	MayChangeBefore    Fact = "may-change-before"
	ChangesBefore      Fact = "changes-before"
	MayBeOtherAtReturn Fact = "may-be-other-at-return"
	ElementMayChange   Fact = "element-may-change"
	ElementUse         Fact = "element-use"
	OtherSlice         Fact = "other-slice"
	NoSliceVariable    Fact = "no-slice-variable"
	PanicsBefore       Fact = "panics-before"
)

// Sorting.
const (
	LessElsewhere     Fact = "less-elsewhere"
	LessDoesMore      Fact = "less-does-more"
	LessDoesMoreAlone Fact = "less-does-more-alone"
	MethodsElsewhere  Fact = "methods-elsewhere"
	ListInField       Fact = "list-in-field"
	SwapDoesMore      Fact = "swap-does-more"
	ListsSwapped      Fact = "lists-swapped"
	LenIsOther        Fact = "len-is-other"
)

// Regexps, templates, headers, numbers, times.
const (
	PatternEndsProgram  Fact = "pattern-ends-program"
	PatternReturnsError Fact = "pattern-returns-error"
	ErrorForVariable    Fact = "error-for-variable"
	ErrorIsUsed         Fact = "error-is-used"
	Longest             Fact = "longest"
	ParseErrorUsed      Fact = "parse-error-used"
	TemplateMayChange   Fact = "template-may-change"
	TemplateEndsProgram Fact = "template-ends-program"
	TemplateMadeBy      Fact = "template-made-by"
	AddKeeps            Fact = "add-keeps"
	OtherNumbers        Fact = "other-numbers"
	ExactTimes          Fact = "exact-times"
	TimerToStop         Fact = "timer-to-stop"
	BelowShare          Fact = "below-share"
	PanicsAtStart       Fact = "panics-at-start"
)

// Pools and what is used again.
const (
	NoPlaceForDefer Fact = "no-place-for-defer"
	OwnerDone       Fact = "owner-done"
	NotResetForPool Fact = "not-reset-for-pool"
	PutsOther       Fact = "puts-other"
	ReliesOnNew     Fact = "relies-on-new"
	NamesRelyOnNew  Fact = "names-rely-on-new"
	ResetNotFresh   Fact = "reset-not-fresh"
	ResetLeaves     Fact = "reset-leaves"
	ResetTakesAll   Fact = "reset-takes-all"
	ResetAsGood     Fact = "reset-as-good"
	PutPerRound     Fact = "put-per-round"
	NotInVariable   Fact = "not-in-variable"
	MainRunsOnce    Fact = "main-runs-once"
	MayBeOneAlready Fact = "may-be-one-already"
	GivenMayBeOne   Fact = "given-may-be-one"
	NoSuchLevel     Fact = "no-such-level"
	ErrorShared     Fact = "error-shared"
	ErrorNotChecked Fact = "error-not-checked"
	ErrorUsedAgain  Fact = "error-used-again"
)

// What only somebody who knows the program can say.
const (
	StillInUse      Fact = "still-in-use"
	CanBeKept       Fact = "can-be-kept"
	WhyOnHeap       Fact = "why-on-heap"
	WhoNeedsObjects Fact = "who-needs-objects"
	LinesNeeded     Fact = "lines-needed"
	EntriesNeeded   Fact = "entries-needed"
	EntriesOfNeeded Fact = "entries-of-needed"
	ItemsMayWait    Fact = "items-may-wait"
	StateOfOther    Fact = "state-of-other"
	StateOfReceiver Fact = "state-of-receiver"
)

// Sets and maps.
const (
	SetUse           Fact = "set-use"
	SetUseOf         Fact = "set-use-of"
	EqualNotSame     Fact = "equal-not-same"
	LargeMembers     Fact = "large-members"
	SetsElsewhere    Fact = "sets-elsewhere"
	NoNumberField    Fact = "no-number-field"
	MoreThanVariable Fact = "more-than-variable"
	MoreThanLookup   Fact = "more-than-lookup"
)

// Mutexes.
const (
	Guarded           Fact = "guarded"
	ChangeTogether    Fact = "change-together"
	WorkNeedsMore     Fact = "work-needs-more"
	WaitsLocked       Fact = "waits-locked"
	PartWithout       Fact = "part-without"
	ShownMutex        Fact = "shown-mutex"
	GuardedField      Fact = "guarded-field"
	OtherwiseUsed     Fact = "otherwise-used"
	MoreThanOneStep   Fact = "more-than-one-step"
	WritesMore        Fact = "writes-more"
	ReadsAndWrites    Fact = "reads-and-writes"
	TakesFromUnsigned Fact = "takes-from-unsigned"
	NoWord            Fact = "no-word"
	NoAtomicType      Fact = "no-atomic-type"
	StructInOrder     Fact = "struct-in-order"
	StructShown       Fact = "struct-shown"
	StructCopied      Fact = "struct-copied"
	StructCompared    Fact = "struct-compared"
	StructMeasured    Fact = "struct-measured"
	NotDeclaredAlone  Fact = "not-declared-alone"
)

// Jobs that wait in a channel.
const (
	JobsDepend         Fact = "jobs-depend"
	NotClosedBehind    Fact = "not-closed-behind"
	NoGroupOfFunction  Fact = "no-group-of-function"
	EndsBeforeWait     Fact = "ends-before-wait"
	NoWait             Fact = "no-wait"
	LoopUsesChannel    Fact = "loop-uses-channel"
	ChannelElsewhere   Fact = "channel-elsewhere"
	ReceiverNotWaited  Fact = "receiver-not-waited"
	WaitingMatters     Fact = "waiting-matters"
	LoopGoesOn         Fact = "loop-goes-on"
	FunctionRecovers   Fact = "function-recovers"
	LoopMakesFunctions Fact = "loop-makes-functions"
	LoopDefers         Fact = "loop-defers"
	LoopStarts         Fact = "loop-starts"
	LoopPanics         Fact = "loop-panics"
	LoopCallsUnknown   Fact = "loop-calls-unknown"
	LoopEndsGoroutine  Fact = "loop-ends-goroutine"
	UsedWhenSent       Fact = "used-when-sent"
	LoopEndsFunction   Fact = "loop-ends-function"
	ErrorResultKept    Fact = "error-result-kept"
	DifferentErrors    Fact = "different-errors"
	LoopWaits          Fact = "loop-waits"
	LoopChangesSent    Fact = "loop-changes-sent"
	LoopChangesUsed    Fact = "loop-changes-used"
	OthersChange       Fact = "others-change"
	OthersMayChange    Fact = "others-may-change"
	LoopMayChange      Fact = "loop-may-change"
	JobUses            Fact = "job-uses"
	WhatItDoes         Fact = "what-it-does"
)

// A Reason is why there is no patch: a fact, and what of the code it is about.
type Reason struct {
	Fact Fact     `json:"fact"`
	Of   []string `json:"of,omitempty"`
}

// Of returns the fact about some of the code, in the order in which a sentence names it.
func (f Fact) Of(code ...any) Reason {
	r := Reason{Fact: f}
	for _, c := range code {
		r.Of = append(r.Of, fmt.Sprint(c))
	}
	return r
}

// First returns the first reason that there is.
func First(all ...Reason) Reason {
	for _, r := range all {
		if r.Fact != "" {
			return r
		}
	}
	return Reason{}
}
