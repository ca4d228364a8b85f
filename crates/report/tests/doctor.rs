//! The text of a diagnosis for each made-up machine, and the invariants of every layout.

#[path = "../../machine/tests/support/machines.rs"]
mod machines;

use insta::assert_snapshot;
use machines::{container, laptop, ordinary_user, perfect, virtual_machine};
use morecores_machine::Diagnosis;
use morecores_machine::doctor::{Facts, diagnose};
use morecores_report::{Style, doctor_report};
use morecores_study::CpuId;
use morecores_study::noise::CpuRelation;
use morecores_view::Estimate;
use morecores_view::machine_memory::{MachineMemory, MemoryPoint};
use morecores_view::machine_noise::{CpuNoise, Disturbance, MachineNoise};

const PLAIN: Style = Style { width: 100, colour: false, unicode: true, wide: false };

fn named_diagnosis(facts: Facts) -> Diagnosis {
    let mut diagnosis = diagnose(facts);
    diagnosis.host.hostname = "build7".to_owned();
    diagnosis.host.cpu_model = "AMD EPYC 7763".to_owned();
    diagnosis.host.os = "Debian GNU/Linux 12 (bookworm)".to_owned();
    diagnosis
}

fn disturbance(relation: CpuRelation, cpus: &str, value: f64, worst: f64) -> Disturbance {
    let cpus = machines::set(cpus);
    let worst_cpu = cpus.iter().next_back().expect("CPUs");
    Disturbance {
        relation,
        worst_cpu,
        cpus,
        slowdown: Estimate { value, ci95: Some([value * 0.998, value * 1.003]) },
        worst,
    }
}

/// Noise of a quiet machine with two CPUs.
fn quiet() -> MachineNoise {
    let cpu = |cpu, median_s| CpuNoise {
        cpu: CpuId(cpu),
        repetitions: 222,
        median_s,
        spread: 0.0012,
        drift: 0.0031,
        waited: Some(0.0002),
        switches_per_s: Some(4.0),
        steal: 0.0,
        slowdown: Some(1.004),
    };
    MachineNoise {
        loop_s: 0.012,
        arm: 10,
        comparisons: 406,
        floor: Some(0.0021),
        between_cpus: 0.001,
        cpus: vec![cpu(0, 0.01200), cpu(1, 0.01201)],
        disturbances: vec![disturbance(CpuRelation::All, "0-1", 1.004, 1.005)],
    }
}

/// Noise of a machine with four CPUs on two cores, whose siblings halve each other's speed.
fn crowded() -> MachineNoise {
    let mut noise = quiet();
    noise.cpus =
        (0..4).map(|n| CpuNoise { cpu: CpuId(n), slowdown: Some(1.9), ..noise.cpus[0].clone() }).collect();
    noise.cpus[3].waited = None;
    noise.disturbances = vec![
        disturbance(CpuRelation::Siblings, "0,2", 1.87, 1.88),
        disturbance(CpuRelation::Cores, "0-1", 1.01, 1.02),
        disturbance(CpuRelation::All, "0-3", 1.92, 2.31),
    ];
    noise
}

/// Memory that 4 CPUs copy 1.5 times as fast as one.
fn narrow_memory(others_share: f64) -> MachineMemory {
    let point = |cpus, rate, access| MemoryPoint {
        cpus,
        copy_bytes_per_s: Estimate { value: rate, ci95: None },
        access_s: Estimate { value: access, ci95: None },
    };
    let points = vec![point(1, 12.0e9, 92e-9), point(2, 16.8e9, 97e-9), point(4, 18.0e9, 110e-9)];
    MachineMemory { points, others_share }
}

#[test]
fn memory_names_a_consequence_only_if_there_is_one() {
    let text = |memory: &MachineMemory| {
        doctor_report(&named_diagnosis(perfect()), None, Some(memory), &PLAIN).replace("\n    ", " ")
    };
    let narrow = text(&narrow_memory(0.01));
    assert!(narrow.contains("gains at most 1.50 times from 4 CPUs here."), "{narrow}");
    let disturbed = text(&narrow_memory(0.2));
    assert!(disturbed.contains("Other programs took 20%") && !disturbed.contains("gains"), "{disturbed}");
    let mut wide = narrow_memory(0.0);
    for point in &mut wide.points {
        point.copy_bytes_per_s.value = 12.0e9 * f64::from(point.cpus);
    }
    assert!(text(&wide).contains("on 4 (4.00 times)") && !text(&wide).contains("gains"), "{}", text(&wide));
    let none = MachineMemory::default();
    assert!(!text(&none).contains("Memory"), "{}", text(&none));
}

#[test]
fn nothing_left_to_do() {
    assert_snapshot!(doctor_report(&named_diagnosis(perfect()), Some(&quiet()), None, &PLAIN));
}

#[test]
fn an_ordinary_user() {
    assert_snapshot!(doctor_report(&named_diagnosis(ordinary_user()), None, None, &PLAIN));
}

#[test]
fn a_container() {
    assert_snapshot!(doctor_report(&named_diagnosis(container()), None, None, &PLAIN));
}

#[test]
fn a_laptop_with_siblings() {
    assert_snapshot!(doctor_report(
        &named_diagnosis(laptop()),
        Some(&crowded()),
        Some(&narrow_memory(0.0)),
        &Style { width: 80, ..PLAIN }
    ));
}

#[test]
fn a_virtual_machine() {
    assert_snapshot!(doctor_report(&named_diagnosis(virtual_machine()), Some(&quiet()), None, &PLAIN));
}

#[test]
fn narrow_ascii_and_too_few_repetitions() {
    let noise = MachineNoise { floor: None, comparisons: 3, disturbances: vec![], ..quiet() };
    let style = Style { width: 44, unicode: false, ..PLAIN };
    assert_snapshot!(doctor_report(&named_diagnosis(virtual_machine()), Some(&noise), None, &style));
}

#[test]
fn only_commands_are_wider_than_the_terminal_and_colour_changes_no_letter() {
    for facts in [perfect(), ordinary_user(), container(), laptop(), virtual_machine()] {
        let diagnosis = named_diagnosis(facts);
        for noise in [None, Some(quiet()), Some(crowded())] {
            for width in [0, 40, 63, 64, 80, 200] {
                let style = Style { width, unicode: false, ..PLAIN };
                let memory = narrow_memory(0.2);
                let text = doctor_report(&diagnosis, noise.as_ref(), Some(&memory), &style);
                for line in text.lines() {
                    let copied = line.trim_start().starts_with("$ ");
                    let word = line.split_whitespace().any(|word| word.len() > 24);
                    assert!(line.len() <= width.clamp(40, 100) || copied || word, "at {width}: {line}");
                    assert!(line.is_ascii() && line.trim_end() == line, "{line:?}");
                }
                let coloured = doctor_report(
                    &diagnosis,
                    noise.as_ref(),
                    Some(&memory),
                    &Style { colour: true, ..style },
                );
                assert_eq!(without_colour(&coloured), text);
            }
        }
    }
}

/// Text without its escape sequences, all of which end in `m` here.
fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| part.split_once('m').map(|(_, rest)| rest)).collect::<String>()
}

#[test]
fn disturbance_is_reported_only_as_far_as_it_is_known() {
    let summary = |ci95, waited: f64| {
        let mut noise = quiet();
        noise.disturbances[0].slowdown.ci95 = ci95;
        noise.cpus[1].waited = Some(waited);
        let text = doctor_report(&named_diagnosis(perfect()), Some(&noise), None, &PLAIN);
        text.split_once("Commands can be timed").expect("a summary").1.replace('\n', " ")
    };
    assert!(summary(Some([1.001, 1.006]), 0.0).contains("not slow each other down by more than 0.60%"));
    assert!(summary(Some([1.01, 1.14]), 0.0).contains("is not known, because the noise is too large"));
    assert!(summary(None, 0.0).contains("is not known, because the noise is too large"));
    assert!(summary(Some([1.5, 1.6]), 0.0).contains("even a perfect program"));
    let busy = summary(Some([1.5, 1.6]), 0.34);
    assert!(busy.contains("up to 34% of a CPU's time") && !busy.contains("perfect program"), "{busy}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut facts = laptop();
    facts.other_programs[0].name = "a\u{1b}[2J".to_owned();
    let text = doctor_report(&named_diagnosis(facts), None, None, &PLAIN);
    assert!(text.contains("a\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
}
