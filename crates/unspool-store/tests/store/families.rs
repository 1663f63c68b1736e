//! The index of families: what is taken back was never said, and others see what was saved.

use unspool_model::Id;
use unspool_store::{Families, LooseIssue};

#[test]
fn what_is_taken_back_leaves_no_trace_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let mut families = Families::open(&place.path().join("families.db")).unwrap();
    let one = families.place(&[(1, true)]).unwrap().family;
    let other = families.place(&[(2, true)]).unwrap().family;
    families.save(7).unwrap();
    let joined = families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!((joined.family, joined.absorbed), (one, vec![other]));
    families.take_back().unwrap();
    assert_eq!((families.settle(one), families.settle(other)), (one, other));
    assert_eq!(families.through(), 7);
    let again = families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!((again.family, again.absorbed), (one, vec![other]), "it is joined anew");
}

#[test]
fn what_is_saved_is_seen_by_others_and_what_is_cleared_by_oneself() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("families.db");
    let (mut writer, mut reader) = (Families::open(&path).unwrap(), Families::open(&path).unwrap());
    let one = writer.place(&[(1, true)]).unwrap().family;
    let other = writer.place(&[(2, true)]).unwrap().family;
    writer.place(&[(1, true), (2, true)]).unwrap();
    writer.save(9).unwrap();
    reader.follow().unwrap();
    assert_eq!(reader.settle(other), one);
    assert_eq!((writer.through(), reader.through()), (9, 9));
    writer.clear().unwrap();
    assert_eq!((writer.through(), writer.settle(other)), (0, other));
}

#[test]
fn what_is_odd_outside_of_sessions_is_replaced_and_goes_with_its_family() {
    let place = tempfile::tempdir().unwrap();
    let mut families = Families::open(&place.path().join("families.db")).unwrap();
    let odd = |detail: &str| LooseIssue {
        source: "upload".into(),
        code: "not_json".into(),
        detail: detail.into(),
        stream: "upload/3/odd.jsonl".into(),
        count: 2,
        records: vec![Id::of(&[b"a"]), Id::of(&[b"b"])],
    };
    let [one, other] = [1, 2].map(|hash| families.place(&[(hash, true)]).unwrap().family);
    families.set_loose(one, &[odd("x"), odd("y")]).unwrap();
    families.set_loose(one, &[odd("z")]).unwrap();
    families.set_loose(other, &[odd("w")]).unwrap();
    assert_eq!(families.loose().unwrap(), [(one, odd("z")), (other, odd("w"))]);
    families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!(families.loose().unwrap(), [(one, odd("z"))], "what was joined is derived again");
    families.forget(&[one]).unwrap();
    assert_eq!(families.loose().unwrap(), []);
}
