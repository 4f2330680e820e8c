//! A second opinion: another reader of bash's language must list the same commands.
//!
//! It is a library, made by others for other ends, and has mistakes of its own: on lines it accepts it hides a command
//! now and then. But they are not this reader's mistakes, so a line on which both agree is read rightly far more often
//! than either is right. Its answer can only make a line unreadable.
//!
//! It must not see raw lines: nested text costs it exponential time and unbounded stack. It is asked only about lines
//! that were read, which bounds their depth and length.
//!
//! Not compared are redirections, and what stands in the bodies of here-documents, which it keeps as text.

use super::Reason;
use super::reader::{Reader, Result};
use rable::{Node, NodeKind};

/// The words of one command as written; those with commands in them are left out, since these are compared themselves.
type Spelling<'a> = Vec<&'a str>;

/// Refuses the line that `reader` has read if the second reader lists other commands.
pub(super) fn check(reader: &Reader<'_>) -> Result<()> {
    let nodes = rable::parse(reader.text, false).map_err(|_| Reason::SecondReader)?;
    let mut nested = Vec::new();
    let mut theirs = Vec::new();
    nodes.iter().for_each(|node| collect(node, &mut theirs, &mut nested));
    let operands: Vec<Node> = nested.iter().flat_map(|text| operand(text)).collect();
    operands.iter().for_each(|node| collect_nested(node, &mut theirs));
    let mut ours: Vec<Spelling<'_>> =
        reader.spelled.iter().filter_map(|spelled| spelled.spelling(reader.text)).collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    if ours == theirs { Ok(()) } else { Err(Reason::SecondReader) }
}

/// Where the words of a command stand, and whether the second reader sees them.
#[derive(Debug, Default)]
pub(super) struct Spelled {
    pub(super) words: Vec<std::ops::Range<usize>>,
    pub(super) in_document: bool,
}

impl Spelled {
    fn spelling<'a>(&self, text: &'a str) -> Option<Spelling<'a>> {
        let seen = !self.words.is_empty() && !self.in_document;
        seen.then(|| self.words.iter().map(|range| plain(&text[range.clone()])).collect())
    }
}

fn plain(word: &str) -> &str {
    if ["(", "`"].iter().any(|nested| word.contains(nested)) { "" } else { word }
}

/// An operand of `[[ … ]]` is text to the second reader: it is asked again.
fn operand(text: &str) -> Vec<Node> {
    rable::parse(&format!(": {text}"), false).unwrap_or_default()
}

/// Collects what is nested in the words of `: WORD`.
fn collect_nested<'a>(node: &'a Node, found: &mut Vec<Spelling<'a>>) {
    if let NodeKind::Command { words, .. } = &node.kind {
        let mut nested = Vec::new();
        words.iter().for_each(|word| collect(word, found, &mut nested));
    }
}

/// Collects every simple command of a tree, and the texts that are not parsed in it.
fn collect<'a>(node: &'a Node, found: &mut Vec<Spelling<'a>>, texts: &mut Vec<&'a str>) {
    if let NodeKind::Command { assignments, words, .. } = &node.kind {
        let spelling: Spelling<'_> = assignments.iter().chain(words).map(text).collect();
        if !spelling.is_empty() {
            found.push(spelling);
        }
    }
    if let NodeKind::CondTerm { value, .. } = &node.kind
        && value.contains(['(', '`'])
    {
        texts.push(value);
    }
    each_child(&node.kind, &mut |child| collect(child, found, texts));
}

fn text(node: &Node) -> &str {
    match &node.kind {
        NodeKind::Word { value, .. } | NodeKind::WordLiteral { value } => plain(value),
        _ => "",
    }
}

fn each_child<'a>(kind: &'a NodeKind, visit: &mut dyn FnMut(&'a Node)) {
    use NodeKind::*;
    match kind {
        Word { parts, .. } => parts.iter().for_each(visit),
        Command { assignments, words, redirects } => {
            assignments.iter().chain(words).chain(redirects).for_each(visit);
        }
        Pipeline { commands, .. } => commands.iter().for_each(visit),
        List { items } => items.iter().for_each(|item| visit(&item.command)),
        If { condition, then_body, else_body, redirects } => {
            visit(condition);
            visit(then_body);
            else_body.iter().for_each(|body| visit(body));
            redirects.iter().for_each(visit);
        }
        While { condition, body, redirects } | Until { condition, body, redirects } => {
            visit(condition);
            visit(body);
            redirects.iter().for_each(visit);
        }
        For { words, body, redirects, .. } | Select { words, body, redirects, .. } => {
            words.iter().flatten().for_each(&mut *visit);
            visit(body);
            redirects.iter().for_each(visit);
        }
        ForArith { body, redirects, .. }
        | Subshell { body, redirects }
        | BraceGroup { body, redirects }
        | ConditionalExpr { body, redirects } => {
            visit(body);
            redirects.iter().for_each(visit);
        }
        Case { word, patterns, redirects } => {
            visit(word);
            for clause in patterns {
                clause.patterns.iter().chain(&clause.body).for_each(&mut *visit);
            }
            redirects.iter().for_each(visit);
        }
        Function { body, .. } => visit(body),
        Coproc { command, .. }
        | CommandSubstitution { command, .. }
        | ProcessSubstitution { command, .. } => {
            visit(command);
        }
        Redirect { target, .. } => visit(target),
        ArithmeticCommand { redirects, .. } => redirects.iter().for_each(visit),
        UnaryTest { operand, .. } | CondNot { operand } => visit(operand),
        BinaryTest { left, right, .. } | CondAnd { left, right } | CondOr { left, right } => {
            visit(left);
            visit(right);
        }
        CondParen { inner } => visit(inner),
        Negation { pipeline } | Time { pipeline, .. } => visit(pipeline),
        Array { elements } => elements.iter().for_each(visit),
        _ => {}
    }
}
