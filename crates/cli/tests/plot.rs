//! Tests of single pictures, drawn without a browser: they show the figures of the study.

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::World;
use harness::browser::root;
use harness::studies::{build, hostile};
use roxmltree::{Document, Node};

/// Draws pictures of a study.
fn plot(world: &World, study: &Path, rest: &str) {
    let study = study.to_string_lossy().into_owned();
    let words: Vec<&str> = ["report", study.as_str()].into_iter().chain(rest.split_whitespace()).collect();
    world.morecores(&words).success();
}

fn text(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).expect("a picture")
}

fn named<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

/// All text of a picture.
fn words(document: &Document<'_>) -> String {
    let texts: Vec<&str> = named(document, "text").filter_map(|node| node.text()).collect();
    texts.join("\n")
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).and_then(|value| value.parse().ok()).expect("a number")
}

fn view(world: &World) -> serde_json::Value {
    let study = build().to_string_lossy().into_owned();
    let shown = world.morecores(&["show", study.as_str(), "--json"]);
    serde_json::from_str(&shown.success().stdout).expect("JSON")
}

/// The widths of the bar's parts are proportional to their CPUs, and together they fill the bar.
#[test]
fn the_stack_picture_is_to_scale() {
    let world = World::new();
    plot(&world, &build(), "--plot stack.svg");
    let svg = text(&world, "stack.svg");
    let document = Document::parse(&svg).expect("XML");
    let bar = document.descendants().find(|node| node.attribute("aria-label") == Some("bar")).expect("a bar");
    // Each rectangle is a pixel narrower than its part, to leave a gap.
    let widths: Vec<f64> =
        bar.children().filter(Node::is_element).map(|part| number(part, "width") + 1.0).collect();
    let speedup = view(&world)["points"][1]["speedup"]["value"].as_f64().expect("a speedup");
    let share = widths[0] / widths.iter().sum::<f64>();
    assert!((share - speedup / 2.0).abs() < 0.002, "{share} {speedup}");
    let read = words(&document);
    assert!(read.contains("vmlinux") && read.contains(&format!("speedup {speedup:.2}")), "{read}");
}

/// Every timed run is a dot, and every count a large dot.
#[test]
fn the_curve_shows_every_run() {
    let world = World::new();
    plot(&world, &build(), "--plot speedup.svg --plot elapsed.svg --plot efficiency.svg");
    let view = view(&world);
    let points = view["points"].as_array().expect("points");
    let runs: u64 = points.iter().map(|point| point["runs"].as_u64().expect("runs")).sum();
    for name in ["speedup.svg", "elapsed.svg", "efficiency.svg"] {
        let svg = text(&world, name);
        let document = Document::parse(&svg).expect("XML");
        assert_eq!(named(&document, "circle").count() as u64, runs, "{name}");
        let dots = document.descendants().filter(|node| node.attribute("aria-label") == Some("dot"));
        let marks: Vec<usize> = dots.map(|dot| dot.children().filter(Node::is_element).count()).collect();
        assert!(marks.contains(&points.len()), "{name}: {marks:?}");
        assert!(!svg.contains("var(") && !svg.contains("<style"), "{name}");
    }
}

/// The area of a thread's box is its CPU time.
#[test]
fn the_bottle_graph_is_to_scale() {
    let world = World::new();
    plot(&world, &build(), "--plot bottles.svg");
    let svg = text(&world, "bottles.svg");
    let document = Document::parse(&svg).expect("XML");
    let group = document.descendants().find(|node| {
        node.attribute("aria-label") == Some("rect")
            && node.children().any(|child| child.has_tag_name("rect"))
    });
    let boxes = group.expect("boxes").children().filter(Node::is_element);
    let areas: Vec<f64> = boxes.map(|node| number(node, "width") * number(node, "height")).collect();
    let view = view(&world);
    let threads = view["traces"].as_array().expect("traces").last().expect("a trace")["threads"].clone();
    let cpu_s =
        threads.as_array().expect("threads").iter().map(|row| row["cpu_s"].as_f64().expect("a number"));
    let (area, seconds): (f64, f64) = (areas.iter().sum(), cpu_s.sum());
    assert!(areas.len() > 1 && area > 0.0 && seconds > 0.0);
    let mut shares: Vec<f64> = areas.iter().map(|one| one / area).collect();
    let mut expected: Vec<f64> = threads
        .as_array()
        .expect("threads")
        .iter()
        .filter(|row| row["criticality_s"].as_f64().expect("a number") > 0.0)
        .map(|row| row["cpu_s"].as_f64().expect("a number") / seconds)
        .collect();
    shares.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    assert_eq!(shares.len(), expected.len());
    for (share, expected) in shares.iter().zip(&expected) {
        assert!((share - expected).abs() < 0.01, "{shares:?} instead of {expected:?}");
    }
    assert!(words(&document).contains("threads by criticality"));
}

#[test]
fn the_timeline_shows_every_command() {
    let world = World::new();
    plot(&world, &build(), "--plot x.svg --picture timeline --dark --width 500");
    let svg = text(&world, "x.svg");
    let document = Document::parse(&svg).expect("XML");
    assert_eq!(number(document.root_element(), "width"), 500.0);
    let read = words(&document);
    for command in ["cc1", "make", "sh", "ready, but not running"] {
        assert!(read.contains(command), "{command}: {read}");
    }
    // The paths are two areas for each command, its threads and its part of the critical path; one
    // for the ready threads; the axis and the line of the CPUs.
    let swatches = named(&document, "rect").filter(|rect| rect.attribute("rx").is_some()).count();
    let commands = swatches - 1;
    assert_eq!(named(&document, "path").count(), 2 * commands + 3);
    assert!(svg.contains("#14161a"));
}

#[test]
fn one_picture_shows_several_studies() {
    let world = World::new();
    let suite = root().join("studies/2026-11-21-suite");
    let other = suite.join("matmul.study").to_string_lossy().into_owned();
    plot(&world, &suite.join("build.study"), &format!("{other} --plot speedup.svg"));
    let svg = text(&world, "speedup.svg");
    let read = words(&Document::parse(&svg).expect("XML"));
    assert!(read.contains("build.study") && read.contains("matmul.study"), "{read}");
    let study = build().to_string_lossy().into_owned();
    world
        .morecores(&["report", study.as_str(), other.as_str(), "--plot", "stack.svg"])
        .refused(2, &["cannot draw stack.svg: a picture of the stack is of one study: name one"]);
}

/// Each part of each benchmark has a line, even without a study.
#[test]
fn a_suite_is_one_picture_of_published_and_measured_speedups() {
    let world = World::new();
    let suite = world.path("mine");
    fs::create_dir(&suite).expect("a directory");
    let from = root().join("studies/2026-11-21-suite/soften.study");
    let copied = Command::new("cp").arg("-r").arg(from).arg(&suite).status();
    assert!(copied.is_ok_and(|status| status.success()));
    plot(&world, &suite, "--plot suite.svg");
    let svg = text(&world, "suite.svg");
    let document = Document::parse(&svg).expect("XML");
    let read = words(&document);
    for word in ["soften", "keysearch", "not measured", "speedup over 1 CPU"] {
        assert!(read.contains(word), "{word}: {read}");
    }
    let parts = morecores_catalogue::Benchmark::ALL.iter().flat_map(|benchmark| benchmark.parts).count();
    assert_eq!(
        named(&document, "text").filter(|node| node.text() == Some("not measured")).count(),
        parts - 1
    );
    let study = build().to_string_lossy().into_owned();
    world
        .morecores(&["report", study.as_str(), "--plot", "suite.svg"])
        .refused(2, &["a picture of the suite is of a directory that `morecores suite` made"]);
}

/// The PNG has twice as many pixels as the drawing, with ink in them and letters of its own font.
#[test]
fn png_and_svg_show_the_same_picture() {
    let world = World::new();
    plot(&world, &build(), "--plot stack.png --plot stack.svg");
    let png = fs::read(world.path("stack.png")).expect("a picture");
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    let svg = text(&world, "stack.svg");
    let document = Document::parse(&svg).expect("XML");
    let root = document.root_element();
    assert_eq!((size(16), size(20)), (1800, 2 * number(root, "height") as u32));
    // An empty picture of this size has a tenth of these bytes.
    assert!(png.len() > 20_000, "{}", png.len());
}

/// The texts of a study stay text in a picture, and control characters get a visible replacement.
#[test]
fn a_hostile_study_becomes_plain_text_in_a_picture() {
    let world = World::new();
    let study = hostile(&world);
    plot(&world, &study, "--plot speedup.svg --plot stack.svg --plot timeline.svg --plot speedup.png");
    for name in ["speedup.svg", "stack.svg", "timeline.svg"] {
        let svg = text(&world, name);
        let document = Document::parse(&svg).expect("XML");
        let allowed = ["svg", "g", "rect", "path", "text", "tspan", "title", "circle", "line"];
        for node in document.descendants().filter(Node::is_element) {
            assert!(allowed.contains(&node.tag_name().name()), "{name}: {node:?}");
            assert!(
                node.attributes().all(|attribute| !attribute.name().starts_with("on")),
                "{name}: {node:?}"
            );
        }
        assert!(words(&document).contains("<script>"), "{name}");
    }
}

#[test]
fn an_impossible_picture_gives_one_clear_line() {
    let world = World::new();
    let study = build().to_string_lossy().into_owned();
    let refused = |rest: &[&str], line: &str| {
        let words: Vec<&str> = ["report", study.as_str()].into_iter().chain(rest.iter().copied()).collect();
        world.morecores(&words).refused(2, &[line]);
    };
    refused(&["--plot", "speedup.jpg"], "give it a name that ends in .svg or .png");
    refused(&["--plot", "picture.svg"], "the picture is not named: use --picture");
    refused(&["--plot", "none/speedup.svg"], "cannot write none/speedup.svg");
    refused(&["--plot", "metric.svg"], "has no metric");
    assert!(world.morecores(&["report", study.as_str(), "--dark"]).stderr.contains("--plot <FILE>"));
    let untraced = world.path("untraced.study");
    let copied = Command::new("cp").arg("-r").arg(&study).arg(&untraced).status();
    assert!(copied.is_ok_and(|status| status.success()));
    fs::remove_dir_all(untraced.join("traces")).expect("traces");
    for (picture, lacks) in [("stack", "no speedup stack"), ("timeline", "no traced run")] {
        let file = format!("{picture}.svg");
        world
            .morecores(&["report", "untraced.study", "--plot", file.as_str()])
            .refused(2, &[lacks, "as root"]);
    }
    assert!(world.names().iter().all(|name| !name.ends_with(".svg")));
}
