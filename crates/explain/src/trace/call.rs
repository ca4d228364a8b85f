//! Names of the system calls in which threads wait.

use morecores_study::trace::Call;

/// Name of a wait in `call` on a machine of architecture `arch`: the system call's name, or `page
/// fault` outside any call. It is none if the call was not recorded. System call numbers differ
/// between architectures, and names exist only for the architecture that this crate is compiled
/// for.
pub fn call_name(call: Call, arch: &str) -> Option<String> {
    let known = |number| syscalls::Sysno::new(number).filter(|_| arch == std::env::consts::ARCH);
    match call {
        Call::Number(number) => Some(match known(usize::from(number)) {
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
        let here = |call| call_name(call, std::env::consts::ARCH);
        assert_eq!(here(Call::Number(number as u16)).as_deref(), Some("wait4"));
        assert_eq!(here(Call::Number(9999)).as_deref(), Some("system call 9999"));
        assert_eq!(here(Call::Fault).as_deref(), Some("page fault"));
        assert_eq!(here(Call::Unknown), None);
        let elsewhere = |call| call_name(call, "pdp11");
        assert_eq!(elsewhere(Call::Number(7)).as_deref(), Some("system call 7"));
        assert_eq!(elsewhere(Call::Fault).as_deref(), Some("page fault"));
    }
}
