//! Names of the system calls in which threads wait.

use morecores_record::Call;

/// What a wait in `call` is called: the system call's name, `page fault` outside any; none where it was not told.
/// Numbers are those of the architecture that this is compiled for.
pub fn call_name(call: Call) -> Option<String> {
    match call {
        Call::Number(number) => Some(match syscalls::Sysno::new(usize::from(number)) {
            Some(known) => known.name().to_owned(),
            None => format!("system call {number}"),
        }),
        Call::Fault => Some("page fault".to_owned()),
        Call::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_names() {
        let number = syscalls::Sysno::wait4.id();
        assert_eq!(call_name(Call::Number(number as u16)).as_deref(), Some("wait4"));
        assert_eq!(call_name(Call::Number(9999)).as_deref(), Some("system call 9999"));
        assert_eq!(call_name(Call::Fault).as_deref(), Some("page fault"));
        assert_eq!(call_name(Call::Unknown), None);
    }
}
