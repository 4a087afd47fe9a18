//! Each kind of mistake, in a file that is right but for it.

use super::{Mistake, form, words};
use crate::system::{APACHE_KAFKA, BUILT_IN, REFERENCE, System};

/// What is told of a file in which one piece is another.
fn told(file: &str, right: &str, wrong: &str) -> (Mistake, String) {
    // Comments have words and tables, too.
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let file: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(file.contains(right), "{right:?} is not in the file");
    let text = file.replacen(right, wrong, 1);
    match System::read(&text) {
        Ok(_) => panic!("nobody minds {wrong:?} for {right:?}"),
        Err(mistake) => (mistake, text),
    }
}

/// In a file, a piece that is right, another for it, and what must be told: the field, a piece of the line, words of
/// why, words of the remedy.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

fn all_are_told(cases: &[Case<'_>]) {
    for (file, right, wrong, field, line, why, remedy) in cases {
        let (mistake, text) = told(file, right, wrong);
        assert_eq!(mistake.field, *field, "{wrong:?}: {mistake}");
        let found = mistake.line.and_then(|line| text.lines().nth(line - 1));
        match found {
            None => assert_eq!(*line, "", "{wrong:?} has no line: {mistake}"),
            Some(found) => assert!(
                !line.is_empty() && found.contains(line),
                "{wrong:?}: {found:?}: {mistake}"
            ),
        }
        assert!(mistake.why.contains(why), "{wrong:?}: {mistake}");
        assert!(mistake.remedy.contains(remedy), "{wrong:?}: {mistake}");
        assert!(!mistake.remedy.is_empty());
    }
}

const R: &str = REFERENCE;
const K: &str = APACHE_KAFKA;

#[test]
fn the_shipped_files_are_right_and_so_is_what_is_written_of_them() {
    for built_in in BUILT_IN {
        let system =
            System::read(built_in.toml).unwrap_or_else(|mistake| panic!("{}: {mistake}", built_in.name));
        assert_eq!(system.name, built_in.name);
        let written = toml::to_string(&system).unwrap();
        assert_eq!(System::read(&written).unwrap(), system, "{written}");
    }
    let variables = [
        ("java", "/j"),
        ("libs", "/l"),
        ("archive", "/a"),
        ("version", "4.0.1"),
    ];
    let variables = variables.map(|(word, value)| (word.to_owned(), value.to_owned()));
    let filled = System::apache_kafka("4.0.1", variables.into());
    assert_eq!(System::read(&toml::to_string(&filled).unwrap()).unwrap(), filled);
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    all_are_told(&[
        (R, r#"name = "reference""#, "name = reference", "", "name = reference", "no TOML", "quotes"),
        (R, "[controller]", "[controller", "", "[controller", "no TOML", ""),
        (R, "port = 9093", "port = 9093\nport = 9094", "", "port", "duplicate", "only once"),
    ]);
    for bytes in [
        "[".repeat(100_000),
        "a = ".into(),
        "\0".into(),
        "x.".repeat(10_000),
    ] {
        assert_eq!(System::read(&bytes).unwrap_err().field, "");
    }
    assert_eq!(System::read("").unwrap_err().why, "it is missing");
}

#[test]
fn keys_that_nobody_knows_are_told_with_the_nearest() {
    all_are_told(&[
        (R, "trouble =", "troubel =", "troubel", "troubel", "no such key", "trouble is the nearest"),
        (R, "[bugs]", "limit_time = 2\n[bugs]", "format.limit_time", "limit_time", "[format] has no such key", "limit_s is"),
        (R, "name = ", "nam = \"x\"\nname = ", "nam", "nam = ", "the file has no such key", "name is the nearest"),
        (R, "[bugs]", "[bug]", "bug", "[bug]", "no such key", "bugs is the nearest"),
        (R, "[bugs]", "limits_times = 2\n[bugs]", "format.limits_times", "limits_times", "no such key", "above the first [table]"),
        (R, "[broker.host]", "[controller.host]", "controller.host", "[controller.host]", "no such key", "port"),
        (R, "highest = 1,", "higest = 1,", "features.\"eligible.leader.replicas.version\".higest", "higest", "no such key", "highest is the nearest"),
        (K, "text = \"\"\"\nlog4j", "texts = \"\"\"\nlog4j", "files.texts", "texts", "no such key", "text is the nearest"),
        (K, "[[files]]", "[[file]]", "file", "[[file]]", "no such key", "files is the nearest"),
    ]);
}

#[test]
fn keys_that_are_missing_are_told_with_the_form() {
    all_are_told(&[
        (R, "trouble = [\"panicked at\", \"FATAL\"]", "", "trouble", "", "missing", "add trouble = "),
        (R, "[broker]\nport = 9092", "[broker]", "broker.port", "[broker]", "missing", "add port = 9092"),
        (K, "name = \"log4j.properties\"", "", "files.name", "[[files]]", "missing", "add name = "),
        (K, "highest = 1, default", "default", "features.\"eligible.leader.replicas.version\".highest", "since", "missing", "add highest = 1"),
    ]);
}

#[test]
fn values_of_another_kind_are_told_with_the_form() {
    all_are_told(&[
        (R, "port = 9093", "port = \"9093\"", "controller.port", "port = ", "a text, and a whole number is expected", "port = 9093"),
        (R, "port = 9093", "port = 9093.0", "controller.port", "port = ", "a number with a point", "port = 9093"),
        (R, "start = [", "start = [7, ", "start", "[7,", "a whole number, and a text in quotes", "start = "),
        (R, "names = [\"{self}\", \"node\", \"bugs\", \"--json\"]", "names = true", "bugs.names", "true", "true or false, and a list of texts", "names = ["),
        (R, "[properties]\nargv", "[[properties]]\nargv", "properties", "[[properties]]", "a list, and a table", "[properties]"),
        (K, "\"num.io.threads\" = \"2\"", "\"num.io.threads\" = 2", "server.\"num.io.threads\"", "num.io.threads", "a text in quotes is expected", "\"num.io.threads\" = \"2\""),
        (K, "ms\" = 3000", "ms\" = \"3 s\"", "server_least.\"broker.session.timeout.ms\"", "3 s", "a whole number is expected", "= 3000"),
        (K, "between = ['<h4><a id=\"', '\"']", "between = ['<h4>']", "properties.between", "between", "a list of two texts", "between = ["),
        (K, "[[files]]\nname = \"log4j2", "[files]\nname = \"log4j2", "", "[[files]]", "no TOML", ""),
    ]);
}

#[test]
fn numbers_beyond_what_is_possible_are_told() {
    all_are_told(&[
        (R, "port = 9093", "port = 0", "controller.port", "port = 0", "0 is not from 1 to 65535", "1 to 65535"),
        (R, "port = 9092", "port = 70000", "broker.port", "70000", "70000 is not from", "65535"),
        (R, "port = 9192", "port = -1", "broker.host.port", "-1", "-1 is not from", "65535"),
        (K, "limit_s = 60", "limit_s = 0", "format.limit_s", "limit_s = 0", "0 is not from 1 to 86400", "86400"),
        (K, "[ready]\nlimit_s = 100", "[ready]\nlimit_s = 86_401", "ready.limit_s", "86_401", "not from", "86400"),
        (K, "limits_times = 2", "limits_times = 0", "limits_times", "limits_times = 0", "0 is not from 1 to 100", "100"),
        (K, "highest = 1", "highest = 40_000", "features.\"eligible.leader.replicas.version\".highest", "40_000", "not from 0", "32767"),
        (K, "highest = 1", "highest = 99999999999999999999", "features.\"eligible.leader.replicas.version\".highest", "999", "not from", ""),
    ]);
}

#[test]
fn a_port_is_in_its_template_and_another_than_the_hosts() {
    all_are_told(&[
        (R, "port = 9093", "port = 9094", "controller.port", "9094", "no port 9094", "write 9094"),
        (R, "port = 9192", "port = 9092", "broker.host.port", "9092", "port of the node's other listener", "9192"),
        (R, "port = 9192", "port = 9193", "broker.host.listener", "9192", "no port 9193", "{address}:9193"),
        (R, "127.0.0.1:{host_port}\"", "127.0.0.1:9192\"", "broker.host.advertised", "advertised", "no {host_port}", "{host_port}"),
        (R, "9092{host_listener}", "9092", "broker.host.listener", "listener = ", "no {host_listener}", "listeners="),
        (R, "9092{host_advertised}", "9092", "broker.host.advertised", "advertised = ", "no {host_advertised}", "advertised.listeners="),
    ]);
}

#[test]
fn words_that_nobody_knows_are_told_with_the_nearest() {
    all_are_told(&[
        (R, "listeners=CONTROLLER://{address}", "listeners=CONTROLLER://{adress}:{address}", "controller.template", "{adress}", "no word {adress}", "{address}"),
        (R, "\"{config}\", \"{bug}\"", "\"{conf}\", \"{bug}\"", "start", "{conf}", "no word {conf}", "{config}"),
        (R, "\"{cluster_id}\"", "\"{cluster-id}\"", "format.argv", "{cluster-id}", "no word", "{cluster_id}"),
        (R, "{feature}={level}", "{feature}={levels}", "format.feature", "{levels}", "no word", "{level}"),
        (R, "[bugs]", "[environment]\nLOGS = \"{hom}/x\"\n[bugs]", "environment.LOGS", "{hom}", "no word", "{home}"),
        (R, "[bugs]", "[environment]\nLOGS = \"{HOME}/x\"\n[bugs]", "environment.LOGS", "{HOME}", "no word", "{home}"),
        (K, "\"{libs}/*\", \"kafka.Kafka\"", "\"{lib}/*\", \"kafka.Kafka\"", "start", "{lib}", "no word", "{libs}"),
        (K, "rootLogger.level=INFO", "rootLogger.level={levl}", "files.text", "{levl}", "no word", "{"),
        (K, "{host_port}", "{host_prt}", "broker.host.advertised", "{host_prt}", "no word", "{host_port}"),
        (R, "\"{first_voters}\"", "\"{first_voter}\"", "format.first", "{first_voter}", "no word", "{first_voters}"),
        (R, "--no-initial-controllers", "--no-{initial}", "format.joins", "{initial}", "no word", "leave it out"),
    ]);
}

#[test]
fn words_that_stand_elsewhere_are_told_with_where() {
    all_are_told(&[
        (R, "\"--config\", \"{config}\", \"{bug}\"", "\"--config\", \"{config}\", \"{properties}\", \"{bug}\"", "start", "{properties}", "in a template", "leave it out"),
        (R, "\"{self}\", \"node\", \"start\"", "\"env\", \"{self}\", \"start\"", "start", "{self}", "as the program of a command", "leave it out"),
        (R, "\"node\", \"bugs\"", "\"node\", \"{disk}\"", "bugs.names", "{disk}", "belongs to one node", "leave it out"),
        (R, "node.id={node_id}", "node.id={node_id}\nx={features}", "controller.template", "x={features}", "argument of [format].argv", "leave it out"),
        (R, "[bugs]", "[environment]\nX = \"{first_voters}\"\n[bugs]", "environment.X", "{first_voters}", "[format].first", "leave it out"),
    ]);
}

#[test]
fn braces_of_other_languages_are_left_alone() {
    let text = K.replace(
        "rootLogger.level=INFO",
        "rootLogger.level=${env}\nx=%d{ISO8601} %-5p{short} {a:b} {1} {}",
    );
    System::read(&text).unwrap();
    let text = R.replace("\n[bugs]", "\n[environment]\nA = '{\"json\": 1}'\n[bugs]");
    System::read(&text).unwrap();
}

#[test]
fn arguments_that_become_several_stand_alone() {
    all_are_told(&[
        (R, "\"{features}\"", "\"--all={features}\"", "format.argv", "--all={features}", "inside a longer argument", "\"{features}\""),
        (R, "\"{quorum}\"]", "\"{quorum} \"]", "format.argv", "{quorum} ", "inside a longer argument", "\"{quorum}\""),
        (R, "\"{bug}\"]", "\"--bugs={bug}\"]", "start", "--bugs={bug}", "inside a longer argument", "\"{bug}\""),
        (R, "start = [\"{self}\"", "start = [\"{self}/x\"", "start", "{self}/x", "inside a longer argument", "\"{self}\""),
    ]);
}

#[test]
fn commands_without_a_program_are_told() {
    all_are_told(&[
        (R, "start = [\"{self}\", \"node\", \"start\", \"--config\", \"{config}\", \"{bug}\"]", "start = []", "start", "start = []", "command is empty", "name its program"),
        (R, "start = [\"{self}\"", "start = [\" \"", "start", "start = ", "no name", "name the program"),
        (R, "[properties]\nargv = [\"{self}\", \"node\", \"properties\", \"--json\"]", "[properties]\nargv = []", "properties.argv", "argv = []", "command is empty", "program"),
        (R, "start = [\"{self}\"", "start = [\"bin/broker\"", "start", "bin/broker", "each node's own folder", "whole path"),
        (R, "\"node\", \"start\"", "\"no\\u0000de\", \"start\"", "start", "u0000", "zero byte", "leave it out"),
    ]);
}

#[test]
fn what_a_template_needs_is_told() {
    let cases = [
        ("log.dirs={disk}\n", "no {disk}", "log.dirs={disk}"),
        ("node.id={node_id}\n", "no {node_id}", "node.id={node_id}"),
        ("{quorum}\n", "no {quorum} and no {voters}", "{quorum}"),
        ("{properties}\n", "no {properties}", "{properties}"),
    ];
    for (line, why, remedy) in cases {
        all_are_told(&[(R, line, "", "controller.template", "template = ", why, remedy)]);
    }
    all_are_told(&[
        (R, "CONTROLLER://{address}:9093", "CONTROLLER://:9093", "controller.template", "template", "no {address}", "{address}"),
        (R, "log.dirs={disk}\n", "log.dirs={disk}\nnonsense\n", "controller.template", "nonsense", "no property", "key=value"),
        (R, "log.dirs={disk}\n", "log.dirs={disk}\n=nonsense\n", "controller.template", "=nonsense", "no property", "key=value"),
        (R, "log.dirs={disk}\n", "log.dirs={disk}\nnode.id=7\n", "controller.template", "node.id=7", "node.id has a value already", "one of them"),
        (R, "log.dirs={disk}\n", "log.dirs={disk}\ncontroller.quorum.voters={voters}\n", "controller.template", "quorum.voters", "value already", "one of them"),
        (R, "{quorum}\n", "controller.quorum.voters={quorum}\n", "controller.template", "quorum.voters", "inside a longer line", "{voters}"),
        (R, "{properties}\n", "a={properties}\n", "controller.template", "a={properties}", "inside a longer line", "alone"),
        (R, "{properties}\n\"\"\"", "{properties}\"\"\"", "controller.template", "{properties}", "not a whole line", "closing quotes"),
        (K, "[server]", "[server]\n\"log.dirs\" = \"/x\"", "controller.template", "log.dirs", "[server] has a value for log.dirs", "one of them"),
    ]);
    let rest = R.replace("log.dirs={disk}\n", "# a comment\nlog.dirs=\\\\\n    {disk}\n");
    System::read(&rest).unwrap();
    System::read(&R.replace(
        "{quorum}\nlisteners",
        "controller.quorum.voters={voters}\nlisteners",
    ))
    .unwrap();
}

#[test]
fn features_that_cannot_be_are_told() {
    let elr = "features.\"eligible.leader.replicas.version\"";
    let (default, since) = (format!("{elr}.default"), format!("{elr}.since"));
    all_are_told(&[
        (K, "default = 1", "default = 2", &default, "default = 2", "more than the highest level, 1", "0 to 1"),
        (K, "since = \"4.0\"", "since = \"four\"", &since, "four", "no version", "since = \"4.1\""),
        (K, "since = \"4.0\"", "since = \"4.\"", &since, "4.", "no version", "numbers with dots"),
        (K, "version = \"4.3.1\"", "version = \"v4.1\"", "version", "v4.1", "no version", "numbers with dots"),
        (K, "version = \"4.3.1\"\n", "", "version", "", "missing", "add version"),
        (R, ", \"{features}\"", "", "format.argv", "argv", "no argument {features}", "leave [features] out"),
        (R, "{feature}={level}", "{feature}", "format.feature", "feature", "not both {feature} and {level}", "{feature}={level}"),
        (R, ", \"{quorum}\"", "", "format.argv", "argv", "no argument {quorum}", "add \"{quorum}\""),
        (R, "first = [\"--initial-controllers\", \"{first_voters}\"]\n", "", "format.first", "[format]", "{first_voters}", "first = "),
    ]);
}

#[test]
fn bugs_that_nothing_switches_on_are_told() {
    all_are_told(&[
        (R, ", \"{bug}\"]", "]", "start", "start", "no argument {bug}", "leave [bugs] out"),
        (R, "argv = [\"--bug\", \"{bug}\"]", "argv = [\"--bug\"]", "bugs.argv", "--bug", "does not name", "{bug}"),
    ]);
}

#[test]
fn files_that_cannot_be_are_told() {
    for name in ["conf/log4j.properties", "/etc/passwd", "a\\nb"] {
        let to = format!("name = \"{name}\"");
        all_are_told(&[(K, "name = \"log4j2.properties\"", &to, "files.name", name, "no name alone", "name = ")]);
    }
    for name in [
        "server.properties",
        "node.log",
        "mount",
        "disk",
        "lost",
        "disk-ledger.jsonl",
    ] {
        let to = format!("name = \"{name}\"");
        all_are_told(&[(K, "name = \"log4j2.properties\"", &to, "files.name", name, "the run itself has", "otherwise")]);
    }
    all_are_told(&[
        (K, "name = \"log4j.properties\"", "name = \"log4j2.properties\"", "files.name", "log4j2", "already", "otherwise"),
        (K, "name = \"log4j.properties\"", "name = \"..\"", "files.name", "..", "no name of a file", "otherwise"),
        (K, "name = \"log4j.properties\"", "name = \"\"", "files.name", "name", "no name of a file", "otherwise"),
    ]);
}

#[test]
fn words_of_the_files_own_that_cannot_be_are_told() {
    all_are_told(&[
        (K, "[variables]", "[variables]\ndisk = \"/x\"", "variables.disk", "disk =", "has a meaning already", "my_disk"),
        (K, "[variables]", "[variables]\nversion = \"4.0\"", "variables.version", "version =", "has a meaning already", "my_version"),
        (K, "[variables]", "[variables]\nheap = \"64m\"", "variables.heap", "heap =", "has {heap}", "leave the line out"),
        (K, "[variables]", "[variables]\n\"a b\" = \"64m\"", "variables.\"a b\"", "a b", "no such word", "letters"),
        (K, "libs = \"/opt/kafka/libs\"", "libs = \"{home}/libs\"", "variables.libs", "{home}", "nothing is replaced", "write out"),
    ]);
}

#[test]
fn patterns_that_say_nothing_are_told() {
    all_are_told(&[
        (R, "trouble = [\"panicked at\", \"FATAL\"]", "trouble = [\"panicked at\",\n\"\"]", "trouble", "\"\"]", "every line has", "leave it out"),
        (K, "between = ['<h4><a id=\"', '\"']", "between = ['<h4><a id=\"', '']", "properties.between", "between", "marks no name", "behind it"),
    ]);
}

#[test]
fn names_that_are_none_are_told() {
    let long = format!("name = \"{}\"", "x".repeat(101));
    all_are_told(&[
        (R, "name = \"reference\"", "name = \"\"", "name", "name = ", "empty", "name the system"),
        (R, "name = \"reference\"", "name = \"a\\tb\"", "name", "name = ", "control characters", "one short line"),
        (R, "name = \"reference\"", &long, "name", "name = ", "longer than a line", "one short line"),
        (K, "version = \"4.3.1\"", "version = \"4.1\\n2\"", "version", "version = ", "control characters", "one short line"),
    ]);
}

#[test]
fn settings_that_cannot_be_are_told() {
    all_are_told(&[
        (K, "[server]", "[server]\n\"a=b\" = \"1\"", "server.\"a=b\"", "a=b", "no name of a property", "behind the ="),
        (K, "[server_least]", "[server_least]\n\"\" = 1", "server_least.\"\"", "\"\" = 1", "no name of a property", "behind the ="),
        (K, "\"num.io.threads\" = \"2\"", "\"num.io.threads\" = \"2\\nx=1\"", "server.\"num.io.threads\"", "num.io", "more than one line", "one line"),
        (R, "[bugs]", "[environment]\n\"A=B\" = \"1\"\n[bugs]", "environment.\"A=B\"", "A=B", "no environment", "without ="),
    ]);
}

#[test]
fn of_several_mistakes_the_first_is_told() {
    let text = R
        .replace("{self}", "{sef}")
        .replace("log.dirs={disk}", "log.dirs={dsk}");
    let mistake = System::read(&text).unwrap_err();
    assert_eq!(mistake.field, "start");
    assert!(mistake.place().starts_with("line "), "{mistake}");
}

/// Whatever is cut out of a file, or doubled in it: it is read, or told in words, and never a panic.
#[test]
fn no_mutilation_is_too_much() {
    for text in [R, K] {
        let lines: Vec<&str> = text.lines().collect();
        for n in 0..lines.len() {
            let without: Vec<&str> = [&lines[..n], &lines[n + 1..]].concat();
            let doubled: Vec<&str> = [&lines[..n], &lines[n..=n], &lines[n..]].concat();
            let cut: Vec<&str> = [&lines[..n], &[&lines[n][..lines[n].len() / 2]], &lines[n + 1..]].concat();
            for mutilated in [without, doubled, cut] {
                if let Err(mistake) = System::read(&mutilated.join("\n")) {
                    assert!(!mistake.why.is_empty() && !mistake.remedy.is_empty(), "{mistake}");
                    assert!(
                        mistake.line.is_none_or(|line| line <= lines.len() + 1),
                        "{mistake}"
                    );
                }
            }
        }
    }
}

/// The form that is checked, and the type that is read, have the same keys.
#[test]
fn the_form_has_every_key_of_the_type() {
    let mut system = System::read(K).unwrap();
    system.bugs = System::reference().bugs;
    system.ready.log = "x".into();
    system.environment.insert("A".into(), "b".into());
    let written: toml::Table = toml::from_str(&toml::to_string(&system).unwrap()).unwrap();
    let known = form::paths::all();
    let mut found = Vec::new();
    keys("", &toml::Value::Table(written), &known, &mut found);
    found.sort();
    found.dedup();
    let mut known = known;
    known.sort();
    assert_eq!(found, known);
}

/// The keys of a table, with the tables that they are in; `*` where the form knows no such name.
fn keys(above: &str, value: &toml::Value, known: &[String], found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = format!("{above}{key}");
                if known.contains(&path) {
                    keys(&format!("{path}."), value, known, found);
                    found.push(path);
                } else {
                    keys(&format!("{above}*."), value, known, found);
                }
            }
        }
        toml::Value::Array(list) => {
            let tables = list.iter().filter(|element| element.is_table());
            tables.for_each(|element| keys(&format!("{above}*."), element, known, found));
        }
        _ => {}
    }
}

#[test]
fn the_docs_have_every_key_and_every_word() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/systems.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for path in form::paths::all() {
        assert!(docs.contains(&format!("| `{path}`")), "{path} is not in docs/systems.md");
    }
    for word in words::all() {
        assert!(docs.contains(&format!("`{{{word}}}`")), "{{{word}}} is not in docs/systems.md");
    }
}
