//! A machine for the BPF that a seccomp filter may consist of: it takes a program apart as strictly as the
//! kernel does before loading one, and runs it on one call. Only tests use it.

use super::SystemCall;

/// The most instructions that the kernel loads.
const MOST_INSTRUCTIONS: usize = 4096;

/// A program that the kernel would load.
#[derive(Debug)]
pub(super) struct Program(Vec<Instruction>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instruction {
    /// Loads 32 bits of the call from this offset.
    Load(u32),
    And(u32),
    /// Goes on after skipping the first count if the comparison holds, else the second.
    Jump(Comparison, u32, usize, usize),
    Return(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Always,
    Equal,
    Above,
    AtLeast,
    HasAny,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// The kernel's `SECCOMP_RET_…` value with its data.
    pub value: u32,
    /// How many instructions it took.
    pub steps: usize,
}

impl Program {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (chunks, []) = bytes.as_chunks::<8>() else { return Err("a part of an instruction".into()) };
        let instructions: Vec<_> = chunks.iter().map(decode).collect::<Result<_, _>>()?;
        if !(1..=MOST_INSTRUCTIONS).contains(&instructions.len()) {
            return Err(format!("{} instructions", instructions.len()));
        }
        if !matches!(instructions.last(), Some(Instruction::Return(_))) {
            return Err("does not end with a return".into());
        }
        for (at, instruction) in instructions.iter().enumerate() {
            if let Instruction::Jump(_, _, yes, no) = instruction
                && at + 1 + yes.max(no) >= instructions.len()
            {
                return Err(format!("instruction {at} jumps out of the program"));
            }
        }
        Ok(Program(instructions))
    }

    pub(super) fn run(&self, call: &SystemCall) -> Answer {
        let (mut accumulator, mut at) = (0, 0);
        for steps in 1.. {
            match self.0[at] {
                Instruction::Load(offset) => accumulator = word(call, offset),
                Instruction::And(operand) => accumulator &= operand,
                Instruction::Jump(comparison, operand, yes, no) => {
                    at += if comparison.holds(accumulator, operand) { yes } else { no };
                }
                Instruction::Return(value) => return Answer { value, steps },
            }
            at += 1;
        }
        unreachable!("jumps lead forward only, and the last instruction returns");
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Comparison {
    fn holds(self, accumulator: u32, operand: u32) -> bool {
        match self {
            Comparison::Always => true,
            Comparison::Equal => accumulator == operand,
            Comparison::Above => accumulator > operand,
            Comparison::AtLeast => accumulator >= operand,
            Comparison::HasAny => accumulator & operand != 0,
        }
    }
}

fn decode(bytes: &[u8; 8]) -> Result<Instruction, String> {
    let [c0, c1, yes, no, k0, k1, k2, k3] = *bytes;
    let operand = u32::from_le_bytes([k0, k1, k2, k3]);
    let jump = |comparison| Instruction::Jump(comparison, operand, yes.into(), no.into());
    Ok(match u16::from_le_bytes([c0, c1]) {
        0x20 if operand % 4 == 0 && operand < 64 => Instruction::Load(operand),
        0x54 => Instruction::And(operand),
        0x05 => Instruction::Jump(Comparison::Always, 0, operand as usize, 0),
        0x15 => jump(Comparison::Equal),
        0x25 => jump(Comparison::Above),
        0x35 => jump(Comparison::AtLeast),
        0x45 => jump(Comparison::HasAny),
        0x06 => Instruction::Return(operand),
        code => return Err(format!("instruction {code:#x} with operand {operand:#x}")),
    })
}

/// `struct seccomp_data`: number, entry, instruction pointer (zero here), six arguments; little-endian.
fn word(call: &SystemCall, offset: u32) -> u32 {
    let index = offset as usize / 4;
    match index {
        0 => call.number,
        1 => call.entry,
        2 | 3 => 0,
        _ => {
            let argument = call.arguments[(index - 4) / 2];
            if index.is_multiple_of(2) { argument as u32 } else { (argument >> 32) as u32 }
        }
    }
}

/// The machine itself, on programs small enough to be read.
mod tests {
    use super::*;

    fn bytes(instructions: &[(u16, u8, u8, u32)]) -> Vec<u8> {
        let encode = |&(code, yes, no, operand): &(u16, u8, u8, u32)| {
            let [c0, c1] = code.to_le_bytes();
            let [k0, k1, k2, k3] = operand.to_le_bytes();
            [c0, c1, yes, no, k0, k1, k2, k3]
        };
        instructions.iter().flat_map(encode).collect()
    }

    #[test]
    fn what_the_kernel_would_not_load_is_no_program() {
        for (instructions, reason) in [
            (&[][..], "0 instructions"),
            (&[(0x06, 0, 0, 0); MOST_INSTRUCTIONS + 1], "4097 instructions"),
            (&[(0x20, 0, 0, 0)], "does not end with a return"),
            (&[(0x15, 0, 1, 0), (0x06, 0, 0, 0)], "instruction 0 jumps out of the program"),
            (&[(0x05, 0, 0, 1), (0x06, 0, 0, 0)], "instruction 0 jumps out of the program"),
            (&[(0x20, 0, 0, 2), (0x06, 0, 0, 0)], "instruction 0x20 with operand 0x2"),
            (&[(0x20, 0, 0, 64), (0x06, 0, 0, 0)], "instruction 0x20 with operand 0x40"),
            (&[(0x28, 0, 0, 0), (0x06, 0, 0, 0)], "instruction 0x28 with operand 0x0"),
        ] {
            assert_eq!(Program::parse(&bytes(instructions)).expect_err(reason), reason);
        }
        assert!(Program::parse(&[0x06, 0, 0]).is_err());
    }

    #[test]
    fn a_run_takes_the_branch_and_counts_its_steps() {
        // Whether the upper half of the second argument has bit 1.
        let program = bytes(&[(0x20, 0, 0, 28), (0x45, 1, 0, 2), (0x06, 0, 0, 7), (0x06, 0, 0, 9)]);
        let program = Program::parse(&program).expect("well-formed");
        let call = |second| SystemCall { entry: 0, number: 0, arguments: [0, second, 0, 0, 0, 0] };
        assert_eq!(program.run(&call(2)), Answer { value: 7, steps: 3 });
        assert_eq!(program.run(&call(2 << 32)), Answer { value: 9, steps: 3 });
    }
}
