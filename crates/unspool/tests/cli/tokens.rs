//! Tokens, and a server that does not open to other machines by accident.

use super::Unspool;

#[test]
fn tokens_are_made_listed_and_revoked() {
    let unspool = Unspool::new();
    assert_eq!(unspool.ok(&["token", "ls"]), "");
    let text = unspool.ok(&["token", "create", "--scope", "ingest", "--name", "laptop"]);
    let id = text.strip_prefix("unspool_").unwrap().split('_').next().unwrap().to_string();
    let made = unspool.json(&["token", "create", "--scope", "read", "--json"]);
    assert!(made["token"].as_str().unwrap().starts_with("unspool_"));
    let shown = unspool.ok(&["token", "ls"]);
    assert!(shown.starts_with(&format!("{id}  ingest")) && shown.contains("laptop"), "{shown}");
    assert!(!shown.contains(text.trim()));
    let listed = unspool.json(&["token", "ls", "--json"]);
    assert_eq!((&listed["tokens"][1]["id"], &listed["tokens"][1]["scope"]), (&made["id"], &"read".into()));
    assert!(listed["tokens"][1].get("token").is_none());
    unspool.ok(&["token", "revoke", &id]);
    assert!(unspool.fails(&["token", "revoke", &id]).contains("no token"));
    assert_eq!(unspool.ok(&["token", "ls"]).lines().count(), 1);
}

#[test]
fn a_server_does_not_open_to_other_machines_by_accident() {
    let unspool = Unspool::new();
    for addresses in [["0.0.0.0:0", "127.0.0.1:0"], ["127.0.0.1:0", "0.0.0.0:0"]] {
        let args = ["serve", "--no-watch", "--listen", addresses[0], "--grpc-listen", addresses[1]];
        let error = unspool.fails(&args);
        assert!(error.contains("0.0.0.0:0") && error.contains("--allow-unauthenticated"), "{error}");
        let error = unspool.fails(&[&args[..], &["--data-dir", "a folder"]].concat());
        assert!(error.contains("token create --scope admin --data-dir 'a folder'`"), "{error}");
    }
}
