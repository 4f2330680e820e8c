//! Why a line is not read in full: fixed sentences for a person. Nothing of the line itself is repeated in them.

/// Why a line, or a part of it, is not read. Shown after "cannot read this line in full: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// Not UTF-8.
    #[error("it is not valid UTF-8")]
    Encoding,
    /// Shells drop a NUL and join what stands around it.
    #[error("it holds a NUL character")]
    Nul,
    /// Carriage returns and escape sequences among them.
    #[error("it holds a control character other than a tab or a line break")]
    ControlCharacter,
    /// Blanks that only look like blanks, zero-width and direction-changing characters.
    #[error("it holds an invisible character or a blank that is none to the shell")]
    InvisibleCharacter,
    /// Longer than [`LONGEST`](super::LONGEST).
    #[error("it is longer than 64 KiB")]
    TooLong,
    /// Nested deeper than [`DEEPEST`](super::DEEPEST).
    #[error("it is nested more than 24 deep")]
    TooDeep,
    /// More than [`MOST_COMMANDS`](super::MOST_COMMANDS).
    #[error("it holds more than 2,000 commands")]
    TooManyCommands,
    /// A backslash and a line break that may join the letters of a word.
    #[error("a backslash before a line break stands where it may join two halves of a word")]
    Continuation,
    /// A backslash with nothing after it.
    #[error("it ends with a backslash")]
    TrailingBackslash,
    /// A quote, parenthesis or brace without its other half.
    #[error("something that is opened is not closed")]
    Unclosed,
    /// A word, operator or keyword where none may stand.
    #[error("it is not well-formed")]
    Syntax,
    /// A keyword whose command this reader does not read: `select`, `coproc`, `function`, …
    #[error("it uses a keyword that is not read")]
    Keyword,
    /// `time --`, `time` in a substitution, `! !`.
    #[error("`time` or `!` stands where its meaning is uncertain")]
    Prefix,
    /// Neither `{ … }` nor `( … )`, or an unusual name.
    #[error("it defines a function in an unusual way")]
    FunctionDefinition,
    /// `$"…"`.
    #[error("it holds a translated string, `$\"…\"`")]
    TranslatedString,
    /// `$'…'` with an escape whose meaning depends on more than the text.
    #[error("it holds an escape in `$'…'` that is not read")]
    QuotedEscape,
    /// A `$` that starts nothing.
    #[error("a `$` stands where its meaning is uncertain")]
    LoneDollar,
    /// `${!x}`, `${x@P}`, `${x:-"$(y)"}`, …
    #[error("it holds a `${{…}}` that is not read")]
    Parameter,
    /// `a[$i]`, `a[x y]=1`.
    #[error("it holds a subscript that is not read")]
    Subscript,
    /// `a=([x]=y)`, `a=()b`.
    #[error("it holds an array that is not read")]
    Array,
    /// Something other than names, numbers and operators in `$((…))` or `((…))`.
    #[error("it holds arithmetic that is not read")]
    Arithmetic,
    /// Backslashes, substitutions or here-documents in backquotes.
    #[error("it holds backquotes that are not read")]
    Backquote,
    /// `@(…)` and its like.
    #[error("it holds an extended pattern such as `@(…)`")]
    ExtendedPattern,
    /// `a<(b)c`.
    #[error("a process substitution touches other text")]
    ProcessSubstitution,
    /// `{name}>file`, `>&word`, a descriptor of many digits.
    #[error("it holds a redirection that is not read")]
    Redirection,
    /// See the module that reads them.
    #[error("it holds a here-document that is not read")]
    HereDocument,
    /// `[[ … ]]` with something unusual in it.
    #[error("it holds a `[[ … ]]` that is not read")]
    Conditional,
    /// `alias`, `shopt` and the like before a line break, `set` with options that change what text means.
    #[error("a command in it changes how later text is read")]
    ChangesReading,
    /// Text that is data to the eye but that a built-in command evaluates, substitutions included.
    #[error("a built-in command would evaluate data as code")]
    DataAsCode,
    /// A variable in arithmetic that may hold more than a number.
    #[error("arithmetic would evaluate the contents of a variable, which may hold commands")]
    ArithmeticOnData,
    /// What the shell in question reads differently from a present-day bash.
    #[error("the shell that runs it reads it differently from bash")]
    OtherShell,
    /// The second reader lists other commands, or does not read the line.
    #[error("a second reader of shell lines does not agree")]
    SecondReader,
}
