//! Data folders that are not there, and addresses that are taken: nothing is made, and it is said what to do.

use super::Unspool;
use std::net::TcpListener;

#[test]
fn whoever_only_reads_makes_no_folder() {
    let unspool = Unspool::new();
    let typo = unspool.path("typo");
    let reading: [&[&str]; 10] = [
        &["usage"],
        &["db", "stats"],
        &["db", "check"],
        &["db", "compact"],
        &["db", "prune", "--older-than", "1d"],
        &["db", "export", "-o", "-"],
        &["rebuild"],
        &["relink"],
        &["token", "ls"],
        &["token", "revoke", "x"],
    ];
    let replay: [&[&str]; 2] =
        [&["mock", "nosuch"], &["replay", "nosuch", "--upstream", "http://127.0.0.1:9"]];
    for words in reading.into_iter().chain(replay) {
        let error = unspool.fails(&[words, &["--data-dir", &typo]].concat());
        assert!(error.contains("typo") && error.contains("--data-dir"), "{words:?}: {error}");
        assert!(!std::path::Path::new(&typo).exists(), "{words:?}");
    }
    // A folder of something else is left as it is.
    let other = unspool.path("other");
    std::fs::create_dir(&other).unwrap();
    for words in [&["usage"][..], &["mock", "nosuch"]] {
        assert!(unspool.fails(&[words, &["--data-dir", &other]].concat()).contains("holds no records"));
        assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0, "{words:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_session_that_is_not_in_the_folder_is_missed_there() {
    let unspool = Unspool::new();
    let data = unspool.path("data");
    assert!(unspool.run(&["run", "--data-dir", &data, "--", "true"]).status.success());
    for words in [&["mock", "nosuch"][..], &["replay", "nosuch", "--upstream", "http://127.0.0.1:9"]] {
        let error = unspool.fails(&[words, &["--data-dir", &data]].concat());
        let why = format!(
            "no session matches `nosuch`, neither of the 0 sessions in {data} nor in the usual places"
        );
        assert!(error.contains(&why), "{error}");
        assert!(error.contains(&format!("`unspool serve --data-dir {data}`")), "{error}");
        assert!(!error.contains("CLAUDE_CONFIG_DIR"), "{error}");
    }
}

#[test]
fn an_address_that_is_taken_is_named_with_its_flag() {
    let unspool = Unspool::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (free, upstream) = ("127.0.0.1:0", "a=http://127.0.0.1:9");
    let commands: [(&[&str], &str); 6] = [
        (&["serve", "--no-watch", "--listen", &taken, "--grpc-listen", free], "with --listen,"),
        (&["serve", "--no-watch", "--listen", free, "--grpc-listen", &taken], "with --grpc-listen,"),
        (
            &[
                "serve",
                "--no-watch",
                "--listen",
                free,
                "--grpc-listen",
                free,
                "--proxy-listen",
                &taken,
                "--upstream",
                upstream,
            ],
            "with --proxy-listen,",
        ),
        (&["proxy", "--listen", &taken, "--page-listen", free, "--upstream", upstream], "with --listen,"),
        (
            &["proxy", "--listen", free, "--page-listen", &taken, "--upstream", upstream],
            "with --page-listen,",
        ),
        (&["demo", "--listen", &taken], "with --listen"),
    ];
    for (words, flag) in commands {
        let error = unspool.fails(words);
        assert!(
            error.contains(&format!("cannot listen on {taken}")) && error.contains(flag),
            "{words:?}: {error}"
        );
    }
}

#[test]
fn a_machine_without_certificates_is_told_what_to_install() {
    let unspool = Unspool::new();
    let traffic =
        unspool.write("traffic.jsonl", r#"{"path":"/v1/messages","body":{"model":"m","messages":[]}}"#);
    let commands: [&[&str]; 2] = [
        &["proxy", "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0"],
        &["replay", &traffic, "--upstream", "https://api.invalid", "--yes"],
    ];
    for words in commands {
        let mut command = unspool.command();
        command.args(words).env("SSL_CERT_FILE", unspool.path("none")).env_remove("SSL_CERT_DIR");
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("this machine has no CA certificates"), "{error}");
        assert!(error.contains("hint: install the package ca-certificates, or set SSL_CERT_FILE"), "{error}");
        assert!(!error.contains("Error {"), "{error}");
    }
}
