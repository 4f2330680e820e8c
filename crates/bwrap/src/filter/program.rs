//! The table as a BPF program, by libseccomp.
//!
//! libseccomp does the work: it knows the entries and turns rules into instructions, the calls sorted by number
//! so that a call which no row names passes about fifteen instructions (and on kernels since 5.11, which
//! remember for each number that it is always let through, none). What it cannot say is "every number beyond this
//! one", so a few instructions of our own stand before its program. Building takes about a tenth of a
//! millisecond, two or three tenths the first time in a process. The program is not loaded here.

use super::table::TYPE_BITS;
use super::{
    Arch, Call, Clause, Errno, FCHMODAT2, FIRST_SHARED, Filter, FilterError, LAST_REVIEWED, NO_CALL, Row,
    Subject, Test, Value, X32_BIT,
};
use libseccomp::error::SeccompError;
use libseccomp::{
    ScmpAction, ScmpArch, ScmpArgCompare, ScmpCompareOp, ScmpFilterContext, ScmpSyscall, ScmpVersion,
    check_version,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Seek};

/// The program that refuses what [`Filter::judge`] refuses, for a kernel of `arch`, whichever this one is.
///
/// The bytes are an array of the kernel's `struct sock_filter`, as `bwrap --seccomp` reads it.
///
/// # Errors
/// See [`FilterError`]. A program is whole or it is not returned.
pub fn program(filter: &Filter, arch: Arch) -> Result<Vec<u8>, FilterError> {
    require_version()?;
    let host = Arch::native()?;
    let mut rules = new_rules(host, arch).map_err(|error| refused("start a filter", &error))?;
    let mut program = Vec::new();
    for row in filter.rows() {
        match row.subject {
            // libseccomp gives numbers of x32 the same answer.
            Subject::ForeignEntry | Subject::X32 => rules
                .set_act_badarch(action(row.answer))
                .map(drop)
                .map_err(|error| refused("refuse foreign entries", &error))?,
            Subject::Unreviewed => program.extend(refuse_unreviewed(arch, row.answer)),
            // It is among the instructions of our own.
            Subject::Call(call) if call.number(arch) == FCHMODAT2 => {}
            Subject::Call(call) if call.is_on(arch) => add_row(&mut rules, row, call, host)?,
            Subject::Call(_) => {}
        }
    }
    program.extend(export(&rules)?);
    Ok(program)
}

fn require_version() -> Result<(), FilterError> {
    let reason = |error| refused("tell its version", &error);
    if check_version(ScmpVersion::from((2, 5, 0))).map_err(reason)? {
        return Ok(());
    }
    Err(FilterError::LibraryTooOld { found: ScmpVersion::current().map_err(reason)?.to_string() })
}

fn new_rules(host: Arch, arch: Arch) -> Result<ScmpFilterContext, SeccompError> {
    const SORTED_BY_NUMBER: u32 = 2;
    let mut rules = ScmpFilterContext::new(ScmpAction::Allow)?;
    if arch != host {
        rules.add_arch(token(arch))?;
        rules.remove_arch(token(host))?;
    }
    rules.set_ctl_optimize(SORTED_BY_NUMBER)?;
    Ok(rules)
}

fn token(arch: Arch) -> ScmpArch {
    match arch {
        Arch::X86_64 => ScmpArch::X8664,
        Arch::Arm64 => ScmpArch::Aarch64,
    }
}

fn action(answer: Errno) -> ScmpAction {
    ScmpAction::Errno(answer.number().into())
}

fn add_row(rules: &mut ScmpFilterContext, row: &Row, call: Call, host: Arch) -> Result<(), FilterError> {
    // libseccomp wants this machine's number and looks up the other architecture's by its name. Calls that this machine
    // lacks have numbers of its own.
    let number = match call.is_on(host) {
        true => ScmpSyscall::from(call.number(host).cast_signed()),
        false => ScmpSyscall::from_name(call.name)
            .map_err(|error| refused(&format!("tell its number of {}", call.name), &error))?,
    };
    for comparisons in alternatives(row.clauses) {
        rules
            .add_rule_conditional_exact(action(row.answer), number, &comparisons)
            .map_err(|error| refused(&format!("refuse {}", call.name), &error))?;
    }
    Ok(())
}

/// The clauses as lists of comparisons. The clauses hold iff all comparisons of at least one list do.
fn alternatives(clauses: &[Clause]) -> Vec<Vec<ScmpArgCompare>> {
    clauses.iter().fold(vec![Vec::new()], |lists, clause| {
        let extend = |list: &Vec<_>| {
            let list = list.clone();
            comparisons(clause).into_iter().map(move |comparison| [list.as_slice(), &[comparison]].concat())
        };
        lists.iter().flat_map(extend).collect()
    })
}

/// The clause as comparisons of which at least one must hold. A rule cannot compare an argument twice, so what
/// lies between two values is named one by one.
fn comparisons(clause: &Clause) -> Vec<ScmpArgCompare> {
    let compare = |op, number| ScmpArgCompare::new(clause.argument as u32, op, number);
    let masked = |mask, number| compare(ScmpCompareOp::MaskedEqual(mask), number);
    match clause.test {
        Test::Is(value) => vec![masked(u32::MAX.into(), value.wide())],
        Test::HasAny(values) => bits(values).map(|bit| masked(bit, bit)).collect(),
        Test::IsNone(values) => {
            let (first, last) = bounds(values);
            let between = others(values, first..=last).map(|number| compare(ScmpCompareOp::Equal, number));
            let below = compare(ScmpCompareOp::Less, first);
            let above = compare(ScmpCompareOp::Greater, last);
            // Nothing is below 0, and libseccomp would compare with it all the same.
            between.chain((first > 0).then_some(below)).chain([above]).collect()
        }
        Test::TypeIs(value) => vec![masked(TYPE_BITS, value.wide())],
        Test::TypeIsNone(values) => {
            others(values, 0..=TYPE_BITS).map(|number| masked(TYPE_BITS, number)).collect()
        }
    }
}

fn bits(values: &[Value]) -> impl Iterator<Item = u64> {
    let all = values.iter().fold(0, |all, value| all | value.wide());
    (0..u32::BITS).map(|shift| 1 << shift).filter(move |bit| all & bit != 0)
}

fn bounds(values: &[Value]) -> (u64, u64) {
    let numbers = values.iter().map(|value| value.wide());
    (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0))
}

fn others(values: &[Value], range: std::ops::RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    range.filter(|number| values.iter().all(|value| value.wide() != *number))
}

/// Takes the finished program over. It is smaller than a pipe, but a pipe can be as small as a page.
fn export(rules: &ScmpFilterContext) -> Result<Vec<u8>, FilterError> {
    let memory = memfd_create(c"palisade-filter", MemfdFlags::CLOEXEC)
        .map_err(|errno| FilterError::ReadBack(errno.into()))?;
    let mut file = File::from(memory);
    rules.export_bpf(&file).map_err(|error| refused("write the program", &error))?;
    let mut program = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut program)).map_err(FilterError::ReadBack)?;
    Ok(program)
}

fn refused(step: &str, error: &SeccompError) -> FilterError {
    FilterError::Library { step: step.to_owned(), reason: error.to_string() }
}

/// Answers calls with unreviewed numbers, and the one that libseccomp may not know, and leaves all others, those of foreign entries and of x32 and the
/// skipped ones among them, to what follows.
fn refuse_unreviewed(arch: Arch, answer: Errno) -> Vec<u8> {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const IF_ABOVE: u16 = 0x25;
    const IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NUMBER_OFFSET: u32 = 0;
    const ENTRY_OFFSET: u32 = 4;
    const FAIL_WITH: u32 = 0x0005_0000;
    let beyond = match arch {
        Arch::X86_64 => X32_BIT,
        Arch::Arm64 => NO_CALL,
    };
    // The code, how many instructions to skip if so and if not, and the operand.
    let instructions: [(u16, u8, u8, u32); 9] = [
        (LOAD, 0, 0, ENTRY_OFFSET),
        (IF_EQUAL, 0, 7, arch.entry()),
        (LOAD, 0, 0, NUMBER_OFFSET),
        (IF_EQUAL, 4, 0, FCHMODAT2),
        (IF_ABOVE, 0, 4, arch.last_own()),
        (IF_AT_LEAST, 0, 2, FIRST_SHARED),
        (IF_ABOVE, 0, 2, LAST_REVIEWED),
        (IF_AT_LEAST, 1, 0, beyond),
        (RETURN, 0, 0, FAIL_WITH | u32::from(answer.number())),
    ];
    instructions.into_iter().flat_map(encode).collect()
}

/// One `struct sock_filter`, little-endian as both architectures are.
fn encode((code, if_so, if_not, operand): (u16, u8, u8, u32)) -> [u8; 8] {
    let [c0, c1] = code.to_le_bytes();
    let [k0, k1, k2, k3] = operand.to_le_bytes();
    [c0, c1, if_so, if_not, k0, k1, k2, k3]
}
