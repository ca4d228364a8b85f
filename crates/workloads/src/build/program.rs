//! Content of a generated C file: a random program on 64-bit words. It can be written as C and be
//! evaluated here, so that the compiler's output can be checked.
//!
//! This module is independent of files and of builds.

use std::fmt::Write;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// Variables of a function.
const VARIABLES: usize = 4;

/// Functions in a file, and steps in a function. With these numbers a file takes the compiler about
/// as long as an average file of the Linux kernel's core, about 100 ms on one current CPU.
const FUNCTIONS: usize = 5;
const STEPS: usize = 6;

/// Words in a table: a power of two, since indices are masked to it.
const TABLE_WORDS: usize = 8;

/// Maximum nesting of choices and loops. It bounds the run time of the program to some
/// microseconds.
const MAX_DEPTH: usize = 2;

/// Maximum number of iterations of a loop.
const MAX_ROUNDS: u64 = 8;

/// Functions of a file. Each may call the previous one, once; the last one is the file's external
/// function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceFile {
    functions: Vec<Vec<Step>>,
}

/// A statement. Variables are identified by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Add {
        to: usize,
        from: usize,
        constant: u64,
    },
    Multiply {
        to: usize,
        constant: u64,
    },
    Rotate {
        to: usize,
        from: usize,
        bits: u32,
    },
    LookUp {
        to: usize,
        from: usize,
        table: [u64; TABLE_WORDS],
    },
    Choose {
        condition: usize,
        modulus: u64,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    Repeat {
        rounds: u64,
        body: Vec<Step>,
    },
    /// Calls the previous function.
    Call {
        to: usize,
        from: usize,
    },
}

impl SourceFile {
    /// Next unit from `random`.
    pub(super) fn new(random: &mut ChaCha8Rng) -> Self {
        let function = |number| {
            let mut body: Vec<_> = (0..STEPS).map(|_| Step::new(random, MAX_DEPTH)).collect();
            if number > 0 {
                // The call is neither the first nor the last step and never in a loop, so that
                // calls do not multiply.
                body.insert(STEPS / 2, Step::Call { to: variable(random), from: variable(random) });
            }
            body
        };
        Self { functions: (0..FUNCTIONS).map(function).collect() }
    }

    /// C text of the unit: a function of this name with one word as its argument.
    pub(super) fn to_c(&self, name: &str) -> String {
        let mut text = String::from("#include \"units.h\"\n");
        for (number, body) in self.functions.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\nNOINLINE static uint64_t part_{number}(uint64_t v0, uint64_t v1)\n{{\n");
            text.push_str("    uint64_t v2 = v0 ^ v1, v3 = v0 + v1;\n");
            for step in body {
                step.write(&mut text, number, 1);
            }
            text.push_str("    return v0 ^ v1 ^ v2 ^ v3;\n}\n");
        }
        let last = self.functions.len() - 1;
        let _ =
            write!(text, "\nuint64_t {name}(uint64_t word)\n{{\n    return part_{last}(word, ~word);\n}}\n");
        text
    }

    /// Value of the function for `word`.
    pub(super) fn value(&self, word: u64) -> u64 {
        self.part(self.functions.len() - 1, word, !word)
    }

    fn part(&self, number: usize, a: u64, b: u64) -> u64 {
        let mut v = [a, b, a ^ b, a.wrapping_add(b)];
        for step in &self.functions[number] {
            step.evaluate(self, number, &mut v);
        }
        v.iter().fold(0, |xor, word| xor ^ word)
    }
}

impl Step {
    fn new(random: &mut ChaCha8Rng, depth: usize) -> Self {
        let (to, from, constant) = (variable(random), variable(random), random.next_u64());
        // The last two kinds contain steps themselves.
        match random.next_u32() % if depth > 0 { 6 } else { 4 } {
            0 => Self::Add { to, from, constant },
            // An odd factor loses no bits.
            1 => Self::Multiply { to, constant: constant | 1 },
            2 => Self::Rotate { to, from, bits: 1 + random.next_u32() % 63 },
            3 => Self::LookUp { to, from, table: std::array::from_fn(|_| random.next_u64()) },
            4 => Self::Choose {
                condition: from,
                modulus: 2 + constant % 9,
                then: Self::random_steps(random, depth),
                otherwise: Self::random_steps(random, depth),
            },
            _ => Self::Repeat {
                rounds: 2 + constant % (MAX_ROUNDS - 1),
                body: Self::random_steps(random, depth),
            },
        }
    }

    /// Two to four steps, one level below `depth`.
    fn random_steps(random: &mut ChaCha8Rng, depth: usize) -> Vec<Self> {
        (0..2 + random.next_u32() % 3).map(|_| Self::new(random, depth - 1)).collect()
    }

    /// Writes the step as C in function `number`, indented by `depth` levels.
    fn write(&self, text: &mut String, number: usize, depth: usize) {
        let indent = "    ".repeat(depth);
        let block = |text: &mut String, head: &str, body: &[Self]| {
            let _ = writeln!(text, "{indent}{head} {{");
            body.iter().for_each(|step| step.write(text, number, depth + 1));
            let _ = writeln!(text, "{indent}}}");
        };
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Add { to, from, constant } => writeln!(text, "{indent}v{to} += v{from} ^ {constant:#x}u;"),
            Self::Multiply { to, constant } => writeln!(text, "{indent}v{to} *= {constant:#x}u;"),
            Self::Rotate { to, from, bits } => {
                writeln!(text, "{indent}v{to} = rotate(v{to}, {bits}) - v{from};")
            }
            Self::LookUp { to, from, table } => {
                let words: Vec<_> = table.iter().map(|word| format!("{word:#x}u")).collect();
                let words = words.join(", ");
                let _ =
                    writeln!(text, "{indent}{{\n{indent}    static const uint64_t table[] = {{ {words} }};");
                writeln!(text, "{indent}    v{to} += table[v{from} % {TABLE_WORDS}];\n{indent}}}")
            }
            Self::Choose { condition, modulus, then, otherwise } => {
                block(text, &format!("if (LIKELY(v{condition} % {modulus} != 0))"), then);
                block(text, "else", otherwise);
                Ok(())
            }
            Self::Repeat { rounds, body } => {
                block(text, &format!("for (int i{depth} = 0; i{depth} < {rounds}; i{depth}++)"), body);
                Ok(())
            }
            Self::Call { to, from } => {
                writeln!(text, "{indent}v{to} ^= part_{}(v{from}, v{to});", number.saturating_sub(1))
            }
        };
    }

    /// Applies the step to the variables.
    fn evaluate(&self, unit: &SourceFile, number: usize, v: &mut [u64; VARIABLES]) {
        let evaluate_all =
            |body: &[Self], v: &mut _| body.iter().for_each(|step| step.evaluate(unit, number, v));
        match self {
            Self::Add { to, from, constant } => v[*to] = v[*to].wrapping_add(v[*from] ^ constant),
            Self::Multiply { to, constant } => v[*to] = v[*to].wrapping_mul(*constant),
            Self::Rotate { to, from, bits } => v[*to] = v[*to].rotate_left(*bits).wrapping_sub(v[*from]),
            Self::LookUp { to, from, table } => {
                v[*to] = v[*to].wrapping_add(table[(v[*from] % TABLE_WORDS as u64) as usize]);
            }
            Self::Choose { condition, modulus, then, .. } if !v[*condition].is_multiple_of(*modulus) => {
                evaluate_all(then, v)
            }
            Self::Choose { otherwise, .. } => evaluate_all(otherwise, v),
            Self::Repeat { rounds, body } => (0..*rounds).for_each(|_| evaluate_all(body, v)),
            Self::Call { to, from } => v[*to] ^= unit.part(number.saturating_sub(1), v[*from], v[*to]),
        }
    }
}

/// Random number of one of the four variables.
fn variable(random: &mut ChaCha8Rng) -> usize {
    random.next_u32() as usize % VARIABLES
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    /// A unit of one function.
    fn unit(body: Vec<Step>) -> SourceFile {
        SourceFile { functions: vec![body] }
    }

    #[test]
    fn each_step_has_its_value() {
        // For 3: v0 = 3, v1 = !3, v2 = !0, v3 = !0; their exclusive or is !0.
        let value = |step| unit(vec![step]).value(3);
        let value_with = |v0: u64| v0 ^ !3;
        assert_eq!(value(Step::Add { to: 0, from: 0, constant: 1 }), value_with(3 + 2));
        assert_eq!(value(Step::Multiply { to: 0, constant: 5 }), value_with(15));
        assert_eq!(value(Step::Rotate { to: 0, from: 0, bits: 63 }), value_with((1 << 63 | 1) - 3));
        assert_eq!(value(Step::LookUp { to: 0, from: 0, table: [0, 1, 2, 30, 4, 5, 6, 7] }), value_with(33));
        let adds = |constant| vec![Step::Add { to: 0, from: 0, constant }];
        let choose = |modulus| Step::Choose { condition: 0, modulus, then: adds(0), otherwise: adds(1) };
        assert_eq!((value(choose(2)), value(choose(3))), (value_with(6), value_with(5)));
        assert_eq!(value(Step::Repeat { rounds: 3, body: adds(0) }), value_with(24));
        let called = SourceFile { functions: vec![adds(0), vec![Step::Call { to: 0, from: 0 }]] };
        // part_0(3, 3): v0 = 6, v1 = 3, v2 = 0, v3 = 6.
        assert_eq!(called.value(3), value_with(3 ^ 6 ^ 3 ^ 6));
    }

    #[test]
    fn a_seed_gives_one_unit_and_another_gives_another() {
        let unit = |seed| SourceFile::new(&mut ChaCha8Rng::seed_from_u64(seed));
        assert_eq!(unit(1), unit(1));
        assert_ne!(unit(1), unit(2));
        assert_ne!(unit(1).value(0), unit(2).value(0));
    }
}
