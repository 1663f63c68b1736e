//! What is drawn fits the screen, whatever the writing of titles and names.

use super::{Unspool, line};
use unicode_width::UnicodeWidthStr;

const TITLES: [&str; 4] = [
    "修复结账总额计算错误并为两张优惠券的情况添加测试用例，然后更新文档",
    "チェックアウト合計の丸め誤差を修正する🎉🎉 そして全部のテストをもう一度走らせる",
    "👩\u{200D}👩\u{200D}👧 family of emoji ❤\u{FE0F} and e\u{301}\u{301} marks, and so on and so on and on",
    "A plain title that is much too long for the narrow column that a terminal of eighty leaves it",
];

/// Four sessions with titles in several scripts, one of them with errors and cost.
fn sessions() -> Unspool {
    let unspool = Unspool::with_demo();
    for (n, title) in TITLES.iter().enumerate() {
        let id = format!("{n}0000000-0000-4000-8000-000000000000");
        let text = line(&format!("u{n}"), title).replace("\"s\"", &format!("\"{id}\""));
        unspool.write(&format!(".claude/projects/w/{id}.jsonl"), text);
    }
    unspool.write("trouble.jsonl", super::findings::trouble());
    unspool
}

fn on_screen(unspool: &Unspool, columns: usize, args: &[&str]) -> String {
    let output = unspool.command().args(args).env("COLUMNS", columns.to_string()).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lines_fit_eighty_columns() {
    let unspool = sessions();
    for columns in [80, 100, 132] {
        for args in [
            &["ls"][..],
            &["stats"],
            &["stats", "--by", "agent"],
            &["stats", "--by", "tool"],
            &["stats", "--by", "model"],
            &["stats", "--by", "day"],
            &["show", "5e55"],
            &["show", "5e55", "--depth", "0"],
            &["path", "5e55"],
            &["findings", "5e55"],
            &["process"],
            &["failures", "5e55"],
            &["failures", "trouble.jsonl"],
            &["metrics", "5e55"],
            &["metrics", "5e55", "--by", "node"],
            &["metrics", "5e55", "--by", "agent"],
            &["metrics", "5e55", "--by", "agent-type"],
            &["metrics", "trouble.jsonl", "--by", "run"],
            &["findings", "trouble.jsonl"],
            &["path", "5e55", "--what-if", "tool:Bash=0.5"],
            &["path", "5e55", "--agent", "test"],
            &["show", "00000000"],
            &["show", "10000000"],
            &["show", "20000000"],
        ] {
            let text = on_screen(&unspool, columns, args);
            for line in text.lines() {
                assert!(line.width() <= columns, "{columns} {args:?}: {} in {line}", line.width());
            }
        }
    }
}

#[test]
fn a_narrow_list_keeps_what_matters_and_says_what_is_missing() {
    insta::assert_snapshot!("ls_80", on_screen(&sessions(), 80, &["ls"]));
    insta::assert_snapshot!("stats_agent_80", on_screen(&sessions(), 80, &["stats", "--by", "agent"]));
    insta::assert_snapshot!("show_80", on_screen(&sessions(), 80, &["show", "5e55"]));
}

#[test]
fn what_a_query_asks_for_is_shown() {
    for (query, heading) in [("cost>0.02", "COST"), ("tokens>1k", "TOKENS"), ("duration>1s", "TOOK")] {
        let text = on_screen(&sessions(), 80, &["query", query]);
        assert!(text.lines().next().unwrap().contains(heading), "{text}");
    }
}

#[test]
fn what_was_found_is_told_whole() {
    let unspool = sessions();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let narrow = on_screen(&unspool, 70, &["findings", "trouble.jsonl"]);
    for finding in
        unspool.json(&["findings", "--json", "trouble.jsonl"])["sessions"][0]["findings"].as_array().unwrap()
    {
        let title = finding["title"].as_str().unwrap();
        assert!(words(&narrow).contains(title), "{title}: {narrow}");
    }
}

#[test]
fn what_goes_to_a_program_is_whole() {
    let list = sessions().ok(&["ls"]);
    for title in TITLES {
        assert!(list.contains(title), "{list}");
    }
    assert!(list.contains("TOKENS") && !list.contains("no room"), "{list}");
}

#[test]
fn how_long_a_session_took_is_shown_where_something_failed() {
    let unspool = sessions();
    let list = on_screen(&unspool, 80, &["ls"]);
    assert!(list.contains("ERRORS") && list.contains("TOOK"), "{list}");
}
