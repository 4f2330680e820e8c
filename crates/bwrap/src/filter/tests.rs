//! The table read as a specification, and the exported programs compared with it.

use super::*;
use std::fmt::Write as _;

const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

fn number(arch: Arch, name: &str) -> u32 {
    let named = |row: &Row| match row.subject {
        Subject::Call(call) if call.name == name => Some(call.number(arch)),
        _ => None,
    };
    TABLE.iter().find_map(named).expect("a row has the name")
}

/// Both architectures answer `name` with these arguments by `answer`, `None` being that it goes through.
fn check(filter: Filter, name: &str, arguments: [u64; 6], answer: Option<Errno>) {
    for arch in ARCHES {
        let call = SystemCall { entry: arch.entry(), number: number(arch, name), arguments };
        let judged = match filter.judge(arch, &call) {
            Action::Allow => None,
            Action::Refuse(row) => Some(row.answer),
        };
        assert_eq!(judged, answer, "{name} {arguments:x?} on {arch} under {filter:?}");
    }
}

/// The whole table, as it reads.
#[test]
fn the_table() {
    let mut text = String::new();
    for row in TABLE {
        let note = if row.only_without_unix_sockets { " [unless Unix sockets are allowed]" } else { "" };
        writeln!(text, "{row}{note}").expect("writes to a string");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_only_a_question_of_arguments() {
    const EPERM: Option<Errno> = Some(Errno::Eperm);
    let filter = Filter::default();
    let dirty = 1 << 32;
    for (name, arguments, answer) in [
        ("clone", [17, 0, 0], None),
        ("clone", [0x1000_0000, 0, 0], EPERM),
        ("clone", [0x1000_0011 | dirty, 0, 0], EPERM),
        ("clone", [0x80, 0, 0], None),
        ("socket", [1, 1, 0], EPERM),
        ("socket", [1 | dirty, 1, 0], EPERM),
        ("socket", [2, 1, 0], None),
        ("socket", [2, 0x80801, 6], None),
        ("socket", [2 | dirty, 1, 0], EPERM),
        ("socket", [2, 10, 0], EPERM),
        ("socket", [2, 10 | 0x80000 | dirty, 0], EPERM),
        ("socket", [10, 2, 0], None),
        ("socket", [16, 3, 0], None),
        ("socket", [16, 3, 15], EPERM),
        ("socket", [16, 3, dirty], EPERM),
        ("socket", [17, 3, 0], EPERM),
        ("socket", [40, 1, 0], EPERM),
        ("socket", [u64::MAX, 1, 0], EPERM),
        ("socketpair", [1, 1, 0], None),
        ("socketpair", [1, 0x80805, 0], None),
        ("socketpair", [1, 2, 0], EPERM),
        ("socketpair", [1, 3 | dirty, 0], EPERM),
        ("socketpair", [1, 0x80802, 0], EPERM),
        ("socketpair", [2, 1, 0], EPERM),
        ("socketpair", [1 | dirty, 1, 0], EPERM),
        ("ioctl", [0, 0x5412, 0], EPERM),
        ("ioctl", [0, 0x5412 | dirty, 0], EPERM),
        ("ioctl", [0, 0x541c | 7 << 60, 0], EPERM),
        ("ioctl", [0, 0x5413, 0], None),
        ("fchmod", [0, 0o2777, 0], None),
        ("fchmod", [0o4000, 0o777, 0], None),
        ("fchmod", [0, 0o4755 | dirty, 0], EPERM),
        ("fchmodat", [0, 0o4000, 0o644], None),
        ("fchmodat", [0, 0, 0o104755], EPERM),
        ("fchmodat2", [0, 0, 0], Some(Errno::Enosys)),
        ("clone3", [0, 0, 0], Some(Errno::Enosys)),
        ("unshare", [0, 0, 0], EPERM),
    ] {
        let [a, b, c] = arguments;
        check(filter, name, [a, b, c, 0, 0, 0], answer);
    }
}

#[test]
fn allowing_unix_sockets_opens_them_and_nothing_else() {
    let filter = Filter { unix_sockets: true };
    check(filter, "socket", [1, 2, 0, 0, 0, 0], None);
    check(filter, "socketpair", [1, 2, 0, 0, 0, 0], None);
    check(filter, "socket", [1 | 1 << 32, 2, 0, 0, 0, 0], Some(Errno::Eperm));
    check(filter, "socketpair", [2, 1, 0, 0, 0, 0], Some(Errno::Eperm));
    let left_out: Vec<_> = TABLE.iter().filter(|row| filter.rows().all(|kept| kept != *row)).collect();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
}

#[test]
fn entries_and_numbers() {
    use Arch::*;
    const I386: u32 = 0x4000_0003;
    const ARM: u32 = 0x4000_0028;
    let answer = |arch, entry, number| match Filter::default()
        .judge(arch, &SystemCall { entry, number, arguments: [0; 6] })
    {
        Action::Allow => "passes",
        Action::Refuse(row) => match (row.subject, row.answer) {
            (Subject::ForeignEntry, Errno::Eperm) => "foreign",
            (Subject::X32, Errno::Eperm) => "x32",
            (Subject::Unreviewed, Errno::Enosys) => "unreviewed",
            _ => "by name",
        },
    };
    for (arch, entry, number, expected) in [
        (X86_64, I386, 20, "foreign"),
        (X86_64, I386, NO_CALL, "foreign"),
        (X86_64, Arm64.entry(), 0, "foreign"),
        (Arm64, ARM, 20, "foreign"),
        (X86_64, X86_64.entry(), 0, "passes"),
        (X86_64, X86_64.entry(), X32_BIT, "x32"),
        (X86_64, X86_64.entry(), X32_BIT | 272, "x32"),
        (X86_64, X86_64.entry(), 0x8000_0000, "x32"),
        (X86_64, X86_64.entry(), NO_CALL - 1, "x32"),
        (X86_64, X86_64.entry(), NO_CALL, "passes"),
        (X86_64, X86_64.entry(), 336, "passes"),
        (X86_64, X86_64.entry(), 337, "unreviewed"),
        (X86_64, X86_64.entry(), 423, "unreviewed"),
        (X86_64, X86_64.entry(), 424, "passes"),
        (X86_64, X86_64.entry(), 466, "passes"),
        (X86_64, X86_64.entry(), 467, "unreviewed"),
        (X86_64, X86_64.entry(), 514, "unreviewed"),
        (X86_64, X86_64.entry(), X32_BIT - 1, "unreviewed"),
        (Arm64, Arm64.entry(), 294, "passes"),
        (Arm64, Arm64.entry(), 295, "unreviewed"),
        (Arm64, Arm64.entry(), 467, "unreviewed"),
        (Arm64, Arm64.entry(), X32_BIT, "unreviewed"),
        (Arm64, Arm64.entry(), NO_CALL - 1, "unreviewed"),
        (Arm64, Arm64.entry(), NO_CALL, "passes"),
    ] {
        assert_eq!(answer(arch, entry, number), expected, "{number:#x} by {entry:#x} on {arch}");
    }
}

#[test]
fn rows_are_about_numbers_that_have_been_read() {
    for arch in ARCHES {
        for row in TABLE {
            if let Subject::Call(call) = row.subject
                && call.is_on(arch)
            {
                assert!(arch.has_reviewed(call.number(arch)), "{} on {arch}", call.name);
            }
            assert!(row.clauses.iter().all(|clause| clause.argument < 6), "{row}");
            assert!(row.reason.ends_with('.'), "{row}");
        }
    }
}

#[cfg(target_os = "linux")]
mod programs {
    use super::super::interpreter::{Answer, Program};
    use super::*;
    use libseccomp::{ScmpArch, ScmpSyscall};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const FILTERS: [Filter; 2] = [Filter { unix_sockets: false }, Filter { unix_sockets: true }];

    struct Built {
        filter: Filter,
        arch: Arch,
        program: Program,
    }

    static PROGRAMS: LazyLock<Vec<Built>> = LazyLock::new(|| {
        let build = |arch| {
            FILTERS.map(|filter| {
                let bytes = program(&filter, arch).expect("libseccomp builds the program");
                Built { filter, arch, program: Program::parse(&bytes).expect("the kernel would load it") }
            })
        };
        ARCHES.into_iter().flat_map(build).collect()
    });

    impl Built {
        fn run(&self, entry: u32, number: u32, arguments: [u64; 6]) -> Answer {
            self.program.run(&SystemCall { entry, number, arguments })
        }

        /// The program answers this call as the table does.
        fn check(&self, call: &SystemCall) {
            let expected = match self.filter.judge(self.arch, call) {
                Action::Allow => 0x7fff_0000,
                Action::Refuse(row) => 0x0005_0000 | u32::from(row.answer.number()),
            };
            let answer = self.program.run(call).value;
            assert_eq!(answer, expected, "{call:x?} on {} under {:?}: {answer:#x}", self.arch, self.filter);
        }
    }

    const UPPER_HALVES: [u64; 4] = [0, 1 << 32, 1 << 63, 0xffff_ffff << 32];

    /// Argument lists that tell rows apart: each bit of the first argument, every family with every type, other
    /// protocols, the refused requests and their neighbours; with and without something in the upper halves.
    fn telling_arguments() -> Vec<[u64; 6]> {
        let mut lists = Vec::new();
        for upper in UPPER_HALVES {
            lists.extend((0..64).map(|bit| [upper | 1 << bit, 0, 0, 0, 0, 0]));
            for family in (0..64).chain([u64::from(u32::MAX)]) {
                let types = (0..16).chain([0x801, 0x8_0002, 0x8_0805, 0x10, u32::MAX.into()]);
                lists.extend(types.flat_map(|kind| {
                    [[family | upper, kind, 0, 0, 0, 0], [family, kind | upper, 0, 0, 0, 0]]
                }));
                lists.extend([1, 15, 256].map(|protocol| [family, 3, protocol | upper, 0, 0, 0]));
                lists.push([family, 3, upper, 0, 0, 0]);
            }
            for mode in [0o644, 0o4000, 0o3777, 0o104_755] {
                lists.push([0, mode | upper, 0, 0, 0, 0]);
                lists.push([0, 0, mode | upper, 0, 0, 0]);
            }
            for request in [0x5411, 0x5412, 0x5413, 0x541b, 0x541c, 0x541d] {
                lists.push([0, request | upper, 0, 0, 0, 0]);
            }
        }
        lists
    }

    /// x32's range and the other ends of the numbers.
    fn far_numbers() -> impl Iterator<Item = u32> {
        let x32 = (0..600).chain([0x3fff_ffff]).map(|number| X32_BIT | number);
        let high = (0..600).map(|number| 0x8000_0000 | number);
        x32.chain(high).chain([X32_BIT - 1, 0x7fff_ffff, NO_CALL - 1, NO_CALL])
    }

    /// Law 8: the filter equals its table for every number on both architectures. The full set of arguments is
    /// tried on the numbers that a row looks at the arguments of, and a few on all others.
    #[test]
    fn the_program_equals_the_table() {
        let telling = telling_arguments();
        let few: Vec<_> = telling.iter().step_by(97).copied().collect();
        for built in PROGRAMS.iter() {
            let looked_at = ["clone", "socket", "socketpair", "ioctl", "chmod", "fchmod", "fchmodat"]
                .map(|name| number(built.arch, name));
            for number in (0..=1023).chain(far_numbers()) {
                let lists = if looked_at.contains(&number) { &telling } else { &few };
                for &arguments in lists {
                    built.check(&SystemCall { entry: built.arch.entry(), number, arguments });
                }
            }
        }
    }

    #[test]
    fn foreign_entries_equal_the_table() {
        // i386, 32-bit Arm, the other of the two, big-endian Arm, none at all, and one bit off.
        let entries = [0x4000_0003, 0x4000_0028, 0xc000_003e, 0xc000_00b7, 0x8000_00b7, 0, 0x8000_003e];
        for built in PROGRAMS.iter() {
            for entry in entries {
                for number in (0..=1023).chain(far_numbers()) {
                    built.check(&SystemCall { entry, number, arguments: [0; 6] });
                }
            }
        }
    }

    fn any_argument() -> impl Strategy<Value = u64> {
        let low = prop_oneof![0u64..64, (0u32..32).prop_map(|bit| 1 << bit), Just(0x5412), Just(0x541c)];
        let near = (low, prop::sample::select(&UPPER_HALVES[..])).prop_map(|(low, upper)| low | upper);
        prop_oneof![3 => near, 1 => any::<u64>()]
    }

    fn any_number() -> impl Strategy<Value = u32> {
        let named: Vec<u32> = TABLE
            .iter()
            .filter_map(|row| match row.subject {
                Subject::Call(call) => Some(call),
                _ => None,
            })
            .flat_map(|call| ARCHES.map(|arch| call.number(arch)))
            .collect();
        prop_oneof![3 => prop::sample::select(named), 1 => 0u32..1024, 1 => any::<u32>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_program_equals_the_table_on_any_call(
            number in any_number(),
            arguments in prop::array::uniform6(any_argument()),
            is_foreign in prop::bool::weighted(0.05),
            entry in any::<u32>(),
        ) {
            for built in PROGRAMS.iter() {
                let entry = if is_foreign { entry } else { built.arch.entry() };
                built.check(&SystemCall { entry, number, arguments });
            }
        }
    }

    /// libseccomp's numbers are the table's, and it knows no call among those that pass for unread.
    #[test]
    fn names_and_numbers_are_libseccomps() {
        for (arch, token) in [(Arch::X86_64, ScmpArch::X8664), (Arch::Arm64, ScmpArch::Aarch64)] {
            for row in TABLE {
                let Subject::Call(call) = row.subject else { continue };
                let known = ScmpSyscall::from_name_by_arch(call.name, token).ok().map(i32::from);
                let is_named = match call.number(arch) {
                    FCHMODAT2 => known.is_none_or(|known| known == FCHMODAT2.cast_signed()),
                    // libseccomp has numbers below -1 for what there is not.
                    NO_CALL => known.is_none_or(|known| known < -1),
                    number => known == Some(number.cast_signed()),
                };
                assert!(is_named, "{} on {arch}: {known:?}", call.name);
            }
            for number in (0..=LAST_REVIEWED).filter(|number| !arch.has_reviewed(*number)) {
                let name = ScmpSyscall::from(number.cast_signed()).get_name_by_arch(token);
                assert!(name.is_err(), "{number} on {arch} is {name:?}");
            }
        }
    }

    /// A call that no row names is answered early. The bound is a little above what libseccomp 2.5.4 gives.
    #[test]
    fn common_calls_pass_few_instructions() {
        for built in PROGRAMS.iter() {
            let common: [u32; 5] = match built.arch {
                // read, write, openat, mmap, futex.
                Arch::X86_64 => [0, 1, 257, 9, 202],
                Arch::Arm64 => [63, 64, 56, 222, 98],
            };
            for number in common {
                let steps = built.run(built.arch.entry(), number, [0; 6]).steps;
                assert!(steps <= 20, "{number} on {} takes {steps} instructions", built.arch);
            }
            assert!(built.program.len() <= 220, "{} instructions on {}", built.program.len(), built.arch);
        }
    }
}
